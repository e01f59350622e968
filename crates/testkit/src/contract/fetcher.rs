//! What every fetcher must do.

use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use varve_core::exchange::Exchange;
use varve_fetch::{FetchErrorKind, FetchRequest, Fetcher};

use crate::web::{Answer, Site, Then, Web};

const PAGE_TEXT: &str = "<!doctype html><title>A page</title><p>Thin layers.</p>";
const DEADLINE: Duration = Duration::from_secs(2);
const MAX_OVERRUN: Duration = Duration::from_secs(15);

/// Runs the suite on a fetcher that may connect to loopback addresses.
pub async fn fetcher(fetcher: &dyn Fetcher) {
    let web = Web::serve(
        Site::new()
            .page("/page", Answer::html(PAGE_TEXT))
            .page("/missing", Answer::html("<p>Not here.</p>").with_status(404))
            .page("/moved", Answer::redirect(302, "/page"))
            .computed("/numbered/", |request| Answer::html(format!("<p>This is {}.</p>", request.path())))
            .at("/silence", |_, connection| {
                connection.wait(Duration::from_secs(60));
                Ok(Then::Close)
            }),
    );
    the_first_exchange_is_the_requested_one(fetcher, &web).await;
    error_statuses_and_redirects_are_exchanges(fetcher, &web).await;
    concurrent_requests_get_their_own_responses(fetcher, &web).await;
    without_a_response_there_is_an_error(fetcher).await;
    a_deadline_is_kept(fetcher, &web).await;
}

async fn fetch_first(fetcher: &dyn Fetcher, url: &str) -> Exchange {
    let fetched = fetcher.fetch(FetchRequest::get(url)).await.expect("a response");
    fetched.exchanges.into_iter().next().expect("at least one exchange")
}

fn response_text(exchange: &Exchange) -> String {
    let mut bytes = Vec::new();
    exchange.response.reader().read_to_end(&mut bytes).expect("readable");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// It has the URL as it was given, and the exact bytes of request and response.
async fn the_first_exchange_is_the_requested_one(fetcher: &dyn Fetcher, web: &Web) {
    let url = web.url("/page");
    let exchange = fetch_first(fetcher, &url).await;
    assert_eq!(exchange.url, url);
    assert!(exchange.request.starts_with(b"GET /page HTTP/1.1\r\n"));
    let text = response_text(&exchange);
    assert!(text.starts_with("HTTP/1.1 200") && text.ends_with(PAGE_TEXT), "{text}");
    assert_eq!((exchange.truncated, web.count("/page")), (None, 1));
}

async fn error_statuses_and_redirects_are_exchanges(fetcher: &dyn Fetcher, web: &Web) {
    for (path, status) in [("/missing", "404"), ("/moved", "302")] {
        let url = web.url(path);
        let exchange = fetch_first(fetcher, &url).await;
        let text = response_text(&exchange);
        assert_eq!(exchange.url, url);
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
    }
}

async fn concurrent_requests_get_their_own_responses(fetcher: &dyn Fetcher, web: &Web) {
    let fetch = async |path: &str| {
        let text = response_text(&fetch_first(fetcher, &web.url(path)).await);
        assert!(text.ends_with(&format!("<p>This is {path}.</p>")), "{path}: {text}");
    };
    tokio::join!(fetch("/numbered/1"), fetch("/numbered/2"), fetch("/numbered/3"));
}

async fn without_a_response_there_is_an_error(fetcher: &dyn Fetcher) {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let refused = fetcher.fetch(FetchRequest::get(format!("http://{closed}/"))).await;
    let error = refused.expect_err("nothing listens there");
    assert!(error.kind.is_silence(), "{error:?}");
    let invalid = fetcher.fetch(FetchRequest::get("ftp://127.0.0.1/")).await;
    assert_eq!(invalid.expect_err("not HTTP").kind, FetchErrorKind::Url);
}

async fn a_deadline_is_kept(fetcher: &dyn Fetcher, web: &Web) {
    let started = Instant::now();
    let request = FetchRequest { until: Some(started + DEADLINE), ..FetchRequest::get(web.url("/silence")) };
    let error = fetcher.fetch(request).await.expect_err("the server sends nothing");
    assert_eq!(error.kind, FetchErrorKind::Timeout, "{error:?}");
    assert!(started.elapsed() < DEADLINE + MAX_OVERRUN, "{:?}", started.elapsed());
}
