//! Pages in a real Chromium, from a server on loopback. Skipped where there is no Chromium.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use varve_fetch::browser::{Browser, BrowserOptions};
use varve_fetch::{
    AddressGuard, Client, FetchError, FetchErrorKind, FetchRequest, Fetched, Fetcher, HttpClientOptions,
    Pending, RenderingKind, Resolve,
};
use varve_wire::TruncationReason;

/// A server whose responses the test chooses by path. It logs every request.
fn serve(
    at: &str,
    answer: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(at).unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, answer) = (Arc::clone(&seen), Arc::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
            std::thread::spawn(move || converse(stream, &log, &*answer));
        }
    });
    (address, seen)
}

fn converse(mut stream: TcpStream, log: &Mutex<Vec<String>>, answer: &dyn Fn(&str, &str) -> Option<String>) {
    loop {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        log.lock().unwrap().push(path.clone());
        match answer(&path, &head) {
            Some(answer) => stream.write_all(answer.as_bytes()).unwrap(),
            None => std::thread::sleep(Duration::from_secs(600)),
        }
    }
}

fn ok(media_type: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n{body}"))
}

/// A browser with a folder of its own, and the checks for what it leaves.
struct BrowserScene {
    /// One test at a time: zombies are counted for the whole process.
    _lock: MutexGuard<'static, ()>,
    folder: tempfile::TempDir,
    options: BrowserOptions,
    guard: AddressGuard,
}

impl BrowserScene {
    fn new() -> Option<Self> {
        static LOCK: Mutex<()> = Mutex::new(());
        let executable = varve_testkit::chromium()?;
        let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let options = BrowserOptions::new(executable, folder.path());
        Some(Self { _lock: lock, folder, options, guard: AddressGuard::allow_private() })
    }

    fn browser(&self) -> Browser {
        let mut options = HttpClientOptions::new(self.folder.path());
        options.guard = self.guard.clone();
        Browser::new(Client::new(options).unwrap(), self.options.clone())
    }

    async fn capture(&self, url: String) -> Result<Fetched, FetchError> {
        self.browser().fetch(FetchRequest::get(url)).await
    }

    /// Waits until no process and no profile is left, up to ten seconds.
    async fn assert_nothing_left(&self) {
        for _ in 0..100 {
            let profiles = std::fs::read_dir(self.folder.path()).unwrap().count();
            if processes_of(self.folder.path()).is_empty() && own_zombies() == 0 && profiles == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let left = processes_of(self.folder.path());
        panic!(
            "left: processes {left:?}, {} zombies, {:?}",
            own_zombies(),
            std::fs::read_dir(self.folder.path())
        );
    }
}

/// The processes whose command line names a folder.
fn processes_of(folder: &Path) -> Vec<u32> {
    let folder = folder.to_str().unwrap();
    let ids = std::fs::read_dir("/proc").unwrap().flatten();
    ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|id| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(folder)
        })
        .collect()
}

/// The browser processes among the children of this process.
fn browsers_of(folder: &Path) -> Vec<u32> {
    let own = std::process::id().to_string();
    let is_child = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().nth(1) == Some(&own)
    };
    processes_of(folder).into_iter().filter(is_child).collect()
}

fn signal(name: &str, processes: &[u32]) {
    let ids = processes.iter().map(u32::to_string);
    std::process::Command::new("kill").arg(name).args(ids).status().unwrap();
}

/// Waits until a server has seen a path so often.
async fn wait_for(seen: &Mutex<Vec<String>>, path: &str, count: usize) {
    while seen.lock().unwrap().iter().filter(|other| *other == path).count() < count {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn document_of(fetched: &Fetched) -> String {
    let document = fetched.renderings.iter().find(|rendering| rendering.kind == RenderingKind::Document);
    String::from_utf8(document.expect("a document").content.clone()).unwrap()
}

/// The children of this process that ended and were not waited for.
fn own_zombies() -> usize {
    let own = std::process::id().to_string();
    let ids = std::fs::read_dir("/proc").unwrap().flatten();
    let is_ours = |stat: String| {
        let (_, rest) = stat.rsplit_once(')').unwrap_or_default();
        let mut words = rest.split_whitespace();
        words.next() == Some("Z") && words.next() == Some(&own)
    };
    ids.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| is_ours(stat.clone()))
        .count()
}

const PAGE: &str = r#"<!DOCTYPE html><title>t</title><link rel=stylesheet href=/style.css><img src=/picture.svg>
<iframe src=/frame.html></iframe><p id=p>before</p><script>
new WebSocket('ws://' + location.host + '/socket');
navigator.serviceWorker && navigator.serviceWorker.register('/worker.js').catch(() => fetch('/without-worker'));
new Worker('/own-worker.js');
alert('a dialog must not hold up anything');
fetch('/data.json').then(answer => answer.json()).then(data => { document.getElementById('p').textContent = data.text });
</script>"#;

fn site(path: &str, head: &str) -> Option<String> {
    match path {
        "/" => Some(
            "HTTP/1.1 302 Found\r\nLocation: /page\r\nSet-Cookie: visited=yes\r\nContent-Length: 0\r\n\r\n"
                .into(),
        ),
        "/page" => ok("text/html", PAGE),
        "/style.css" => ok("text/css", "p { color: green }"),
        "/picture.svg" => ok("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
        "/frame.html" => ok("text/html", "<p>inside</p>"),
        "/own-worker.js" => ok("text/javascript", "fetch('/from-worker')"),
        "/data.json" => {
            let text =
                if head.contains("Cookie: visited=yes") { "with a cookie" } else { "without a cookie" };
            ok("application/json", &format!(r#"{{"text": "made by a script, {text}"}}"#))
        }
        _ => Some("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into()),
    }
}

#[tokio::test]
async fn all_requests_of_a_page_are_recorded() {
    let Some(scene) = BrowserScene::new() else { return };
    let (address, seen) = serve("127.0.0.1:0", site);
    let fetched = scene.capture(format!("http://{address}/")).await.unwrap();
    let urls: Vec<&str> = fetched.exchanges.iter().map(|exchange| exchange.url.as_str()).collect();
    assert_eq!(urls[..2], [format!("http://{address}/"), format!("http://{address}/page")]);
    for path in ["style.css", "picture.svg", "frame.html", "data.json", "own-worker.js", "from-worker"] {
        assert!(urls.contains(&format!("http://{address}/{path}").as_str()), "{path} is not in {urls:?}");
    }
    assert!(!urls.iter().any(|url| url.ends_with("/socket") || url.ends_with("/worker.js")), "{urls:?}");
    assert!(!seen.lock().unwrap().iter().any(|path| path == "/socket"), "the web socket was connected");
    assert_eq!(seen.lock().unwrap().len(), urls.len(), "every request was recorded");
    for exchange in &fetched.exchanges {
        assert_eq!(exchange.truncated, None);
        assert!(!String::from_utf8_lossy(&exchange.request).contains("visited"), "cookies are not recorded");
    }
    let document = &fetched.renderings[0];
    assert_eq!(
        (document.kind, &*document.url),
        (RenderingKind::Document, &*format!("http://{address}/page"))
    );
    let text = String::from_utf8(document.content.clone()).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>\n<html"), "{text}");
    assert!(text.contains("made by a script, with a cookie"), "{text}");
    assert_eq!(fetched.renderings[1].kind, RenderingKind::Screenshot);
    assert!(fetched.renderings[1].content.starts_with(b"\x89PNG"));
    let notes = fetched.notes.join("\n");
    assert!(notes.contains("/socket` was refused"), "{notes}");
    assert!(notes.contains("service worker of `http://127.0.0.1"), "{notes}");
    scene.assert_nothing_left().await;
}

#[tokio::test]
async fn the_guard_applies_to_every_request_of_a_page() {
    let Some(mut scene) = BrowserScene::new() else { return };
    scene.guard = AddressGuard::new();
    scene.guard.allow("127.0.0.1").unwrap();
    let (inside, touched) = serve("127.0.0.2:0", |_, _| ok("text/plain", "secret"));
    let page =
        format!("<img src=http://{inside}/a><script>fetch('http://{inside}/b',{{mode:'no-cors'}})</script>");
    let (address, _) = serve("127.0.0.1:0", move |_, _| ok("text/html", &page));
    let fetched = scene.capture(format!("http://{address}/")).await.unwrap();
    assert_eq!(touched.lock().unwrap().len(), 0, "the private server was reached");
    assert!(fetched.exchanges.iter().all(|exchange| exchange.url.starts_with(&format!("http://{address}/"))));
    for path in ["a", "b"] {
        let url = format!("http://{inside}/{path}");
        let refusals: Vec<_> = fetched.refused.iter().filter(|(refused, _)| *refused == url).collect();
        assert!(refusals.len() == 1 && refusals[0].1.contains("loopback"), "{:?}", fetched.refused);
    }
    assert_eq!(fetched.notes, Vec::<String>::new());
}

#[tokio::test]
async fn a_page_that_keeps_loading_is_captured_at_its_timeout() {
    let Some(mut scene) = BrowserScene::new() else { return };
    scene.options.load_timeout = Duration::from_secs(4);
    let (address, _) = serve("127.0.0.1:0", |path, _| match path {
        "/" => ok("text/html", "<p>here</p><img src=/never>"),
        _ => None,
    });
    let fetched = scene.capture(format!("http://{address}/")).await.unwrap();
    assert_eq!(fetched.exchanges.len(), 1);
    assert!(
        fetched.notes.iter().any(|note| note.contains("was still loading after 4 s")),
        "{:?}",
        fetched.notes
    );
    assert!(String::from_utf8_lossy(&fetched.renderings[0].content).contains("<p>here</p>"));
    scene.assert_nothing_left().await;
}

/// Calls of a page whose script loops get no result. Their timeouts do not add up.
#[tokio::test]
async fn a_page_whose_script_loops_ends_soon_after_its_timeout() {
    let Some(mut scene) = BrowserScene::new() else { return };
    scene.options.load_timeout = Duration::from_secs(3);
    let (address, _) =
        serve("127.0.0.1:0", |_, _| ok("text/html", "<p>here</p><script>while (true) {}</script>"));
    let began = std::time::Instant::now();
    let fetched = scene.capture(format!("http://{address}/")).await.unwrap();
    assert_eq!((fetched.exchanges.len(), fetched.renderings.len()), (1, 0));
    assert!(began.elapsed() < Duration::from_secs(17), "{:?}", began.elapsed());
    scene.assert_nothing_left().await;
}

#[tokio::test]
async fn a_status_without_a_standard_phrase_is_rendered() {
    let Some(scene) = BrowserScene::new() else { return };
    for answer in ["999 Request denied", "599", "200 \u{1}\u{7f}"] {
        let (address, _) = serve("127.0.0.1:0", move |_, _| {
            Some(format!(
                "HTTP/1.1 {answer}\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\n<p>here</p>"
            ))
        });
        let fetched = scene.capture(format!("http://{address}/")).await.unwrap();
        assert_eq!(fetched.notes, Vec::<String>::new(), "{answer:?}");
        assert!(
            String::from_utf8_lossy(&fetched.renderings[0].content).contains("<p>here</p>"),
            "{answer:?}"
        );
    }
    scene.assert_nothing_left().await;
}

#[tokio::test]
async fn exchanges_before_the_deadline_are_kept() {
    let Some(scene) = BrowserScene::new() else { return };
    let (address, _) = serve("127.0.0.1:0", |path, _| match path {
        "/" => ok("text/html", "<p>here</p><img src=/never>"),
        "/drip" => Some("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<p>here".to_owned()),
        _ => None,
    });
    for (path, truncated) in [("/", None), ("/drip", Some(TruncationReason::Time))] {
        let mut request = FetchRequest::get(format!("http://{address}{path}"));
        request.until = Some(Instant::now() + Duration::from_secs(8));
        let fetched = scene.browser().fetch(request).await.unwrap();
        assert_eq!(fetched.exchanges.len(), 1, "{path}");
        assert_eq!(fetched.exchanges[0].truncated, truncated, "{path}");
        assert!(fetched.unfinished && fetched.renderings.is_empty(), "{path}");
        assert_eq!(fetched.notes.len(), 1, "{:?}", fetched.notes);
        scene.assert_nothing_left().await;
    }
    let mut late = FetchRequest::get(format!("http://{address}/"));
    late.until = Some(Instant::now());
    let error = scene.browser().fetch(late).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Timeout, "{error}");
    scene.assert_nothing_left().await;
}

/// Temporary files of a browser are in its profile, which is removed however the processes end.
#[tokio::test]
async fn temporary_files_are_in_the_profile() {
    let Some(scene) = BrowserScene::new() else { return };
    let (folder, found) = (scene.folder.path().to_owned(), std::sync::Arc::new(Mutex::new(Vec::new())));
    let log = std::sync::Arc::clone(&found);
    let (address, _) = serve("127.0.0.1:0", move |_, _| {
        let profiles = std::fs::read_dir(&folder).unwrap().flatten();
        let temporary = profiles.flat_map(|profile| std::fs::read_dir(profile.path().join("tmp"))).flatten();
        log.lock().unwrap().extend(temporary.flatten().map(|entry| entry.file_name()));
        ok("text/html", "<p>here</p>")
    });
    scene.capture(format!("http://{address}/")).await.unwrap();
    let found = found.lock().unwrap().clone();
    assert!(found.iter().any(|name| name.to_string_lossy().starts_with("org.chromium.")), "{found:?}");
    scene.assert_nothing_left().await;
}

#[tokio::test]
async fn a_page_without_a_response_is_the_error_of_its_request() {
    let Some(scene) = BrowserScene::new() else { return };
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = scene.capture(format!("http://{gone}/")).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Refused);
    scene.assert_nothing_left().await;
}

/// A download never fires a load event.
#[tokio::test]
async fn a_download_is_recorded_without_waiting_for_the_timeout() {
    let Some(mut scene) = BrowserScene::new() else { return };
    scene.options.load_timeout = Duration::from_secs(600);
    let (address, _) = serve("127.0.0.1:0", |_, _| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Disposition: attachment\r\n";
        Some(format!("{head}Content-Length: 5\r\n\r\nbytes"))
    });
    let capture = scene.capture(format!("http://{address}/"));
    let fetched = tokio::time::timeout(Duration::from_secs(120), capture).await.unwrap().unwrap();
    assert_eq!(fetched.exchanges.len(), 1);
    assert!(fetched.renderings.iter().all(|rendering| rendering.kind != RenderingKind::Document));
    assert!(!fetched.notes.iter().any(|note| note.contains("still loading")), "{:?}", fetched.notes);
    scene.assert_nothing_left().await;
}

#[tokio::test]
async fn a_crash_is_a_browser_error_and_leaves_nothing() {
    let Some(scene) = BrowserScene::new() else { return };
    let folder = scene.folder.path().to_owned();
    let (address, _) = serve("127.0.0.1:0", move |_, _| {
        signal("-KILL", &processes_of(&folder));
        ok("text/html", "too late")
    });
    let error = scene.capture(format!("http://{address}/")).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Browser, "{error}");
    scene.assert_nothing_left().await;
}

#[tokio::test]
async fn a_cancelled_page_leaves_nothing() {
    let Some(scene) = BrowserScene::new() else { return };
    let (address, seen) = serve("127.0.0.1:0", |_, _| None);
    let capture = scene.capture(format!("http://{address}/"));
    tokio::select! {
        _ = capture => panic!("a server that never answers was captured"),
        () = wait_for(&seen, "/", 1) => {}
    }
    scene.assert_nothing_left().await;
}

#[tokio::test]
async fn a_missing_executable_is_a_browser_error() {
    let Some(mut scene) = BrowserScene::new() else { return };
    scene.options = BrowserOptions::new("/no/such/browser", scene.folder.path());
    let error = scene.capture("http://example.com/".to_owned()).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Browser);
    scene.assert_nothing_left().await;
}

/// Pages in one process, one after the other and at the same time. They share the cookies of the run,
/// and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn pages_share_one_process_and_its_cookies() {
    let Some(scene) = BrowserScene::new() else { return };
    let (folder, found) = (scene.folder.path().to_owned(), Arc::new(Mutex::new(HashSet::new())));
    let browsers = Arc::clone(&found);
    let (address, _) = serve("127.0.0.1:0", move |path, head| {
        browsers.lock().unwrap().extend(browsers_of(&folder));
        let sent = if head.contains("Cookie:") { "a cookie" } else { "no cookie" };
        let page = "<p id=p></p><script>
            document.getElementById('p').textContent = `found ${document.cookie}, ${localStorage.length} items`;
            document.cookie = 'script=1'; localStorage.item = 1;
            fetch('/data').then(answer => answer.text()).then(text => document.title = text)</script>";
        match path {
            "/data" => ok("text/plain", &format!("sent {sent}")),
            _ => Some(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: server=1; HttpOnly\r\n\
                 Content-Length: {}\r\n\r\n{page}",
                page.len()
            )),
        }
    });
    let browser = scene.browser();
    let load = |number| browser.fetch(FetchRequest::get(format!("http://{address}/{number}")));
    let first = load(0).await;
    let others = tokio::join!(load(1), load(2), load(3), load(4), load(5));
    let mut is_first = true;
    for fetched in [first, others.0, others.1, others.2, others.3, others.4] {
        let document = document_of(&fetched.unwrap());
        let cookies = if is_first { "" } else { "script=1" };
        assert!(document.contains(&format!("found {cookies}, 0 items")), "{document}");
        assert!(document.contains("sent a cookie"), "{document}");
        is_first = false;
    }
    assert_eq!(found.lock().unwrap().len(), 1, "{found:?}");
    drop(browser);
    scene.assert_nothing_left().await;
}

#[tokio::test]
async fn a_process_is_replaced_after_its_last_page() {
    let Some(mut scene) = BrowserScene::new() else { return };
    scene.options.max_pages_per_process = 2;
    let (address, _) = serve("127.0.0.1:0", |_, _| ok("text/html", "<p>here</p>"));
    let browser = scene.browser();
    let mut processes = Vec::new();
    for _ in 0..3 {
        let fetched = browser.fetch(FetchRequest::get(format!("http://{address}/"))).await.unwrap();
        assert!(document_of(&fetched).contains("<p>here</p>"));
        processes.push(browsers_of(scene.folder.path()));
    }
    assert_eq!(processes.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
    assert!(processes[0] == processes[1] && processes[1] != processes[2], "{processes:?}");
    drop(browser);
    scene.assert_nothing_left().await;
}

/// A server with a page that waits for a response, and one that does not.
fn serve_waiting() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    serve("127.0.0.1:0", |path, _| match path {
        "/waiting" => ok("text/html", "<p>here</p><img src=/never>"),
        "/looping" => ok("text/html", "<p>here</p><script>while (true) {}</script>"),
        "/never" => None,
        _ => ok("text/html", "<p>here</p>"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_fails_its_pages_and_is_replaced() {
    let Some(scene) = BrowserScene::new() else { return };
    let (address, seen) = serve_waiting();
    let browser = scene.browser();
    let load = |path| browser.fetch(FetchRequest::get(format!("http://{address}{path}")));
    let kill = async {
        wait_for(&seen, "/never", 2).await;
        signal("-KILL", &browsers_of(scene.folder.path()));
    };
    let (one, other, ()) = tokio::join!(load("/waiting"), load("/waiting"), kill);
    for error in [one.unwrap_err(), other.unwrap_err()] {
        assert!(error.kind == FetchErrorKind::Browser && error.kind.is_retryable(), "{error}");
    }
    assert!(document_of(&load("/").await.unwrap()).contains("<p>here</p>"));
    drop(browser);
    scene.assert_nothing_left().await;
}

/// A process that is stopped opens no page. That is noticed by the next page, and no page waits for
/// the process after that.
#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_process_fails_its_pages_and_is_replaced() {
    let Some(mut scene) = BrowserScene::new() else { return };
    scene.options.load_timeout = Duration::from_secs(600);
    let (address, seen) = serve_waiting();
    let browser = scene.browser();
    let load = |path| browser.fetch(FetchRequest::get(format!("http://{address}{path}")));
    let next = async {
        wait_for(&seen, "/never", 1).await;
        signal("-STOP", &browsers_of(scene.folder.path()));
        load("/").await
    };
    let (waiting, next) = tokio::join!(load("/waiting"), next);
    for error in [waiting.unwrap_err(), next.unwrap_err()] {
        assert_eq!(error.kind, FetchErrorKind::Browser, "{error}");
    }
    assert!(document_of(&load("/").await.unwrap()).contains("<p>here</p>"));
    drop(browser);
    scene.assert_nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_hangs_does_not_block_its_neighbours() {
    let Some(mut scene) = BrowserScene::new() else { return };
    scene.options.load_timeout = Duration::from_secs(600);
    let (address, seen) = serve_waiting();
    let browser = scene.browser();
    let load = |path| browser.fetch(FetchRequest::get(format!("http://{address}{path}")));
    let neighbours = async {
        wait_for(&seen, "/looping", 1).await;
        for _ in 0..3 {
            assert!(document_of(&load("/").await.unwrap()).contains("<p>here</p>"));
        }
        assert_eq!(browsers_of(scene.folder.path()).len(), 1);
    };
    tokio::select! {
        _ = load("/looping") => panic!("a page that loops was loaded"),
        () = neighbours => {}
    }
    drop(browser);
    scene.assert_nothing_left().await;
}

/// Resolves every name to the server of the test, on every port.
struct OneServer(SocketAddr);

impl Resolve for OneServer {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> Pending<'a, std::io::Result<Vec<SocketAddr>>> {
        Box::pin(async { Ok(vec![self.0]) })
    }
}

/// Chromium prefers HTTPS for public names on the standard port, but not for addresses.
#[tokio::test]
async fn plain_http_is_requested_by_name() {
    let Some(scene) = BrowserScene::new() else { return };
    let (address, _) = serve("127.0.0.1:0", |path, _| match path {
        "/" => Some(
            "HTTP/1.1 302 Found\r\nLocation: http://example.org/page\r\nContent-Length: 0\r\n\r\n".into(),
        ),
        _ => ok("text/html", "<p>here</p>"),
    });
    let mut options = HttpClientOptions::new(scene.folder.path());
    options.guard = AddressGuard::allow_private();
    options.resolver = Arc::new(OneServer(address));
    let browser = Browser::new(Client::new(options).unwrap(), scene.options.clone());
    for name in ["example.com", "www.example.com", "lake.test", "www.lake.localhost"] {
        let fetched = browser.fetch(FetchRequest::get(format!("http://{name}/"))).await.unwrap();
        let urls: Vec<&str> = fetched.exchanges.iter().map(|exchange| exchange.url.as_str()).collect();
        assert_eq!(urls[..2], [&format!("http://{name}/"), "http://example.org/page"], "{:?}", fetched.notes);
        assert!(document_of(&fetched).contains("<p>here</p>"));
        assert_eq!(fetched.notes, Vec::<String>::new());
    }
    drop(browser);
    scene.assert_nothing_left().await;
}

#[tokio::test]
async fn given_headers_replace_those_of_the_browser_by_url() {
    let Some(scene) = BrowserScene::new() else { return };
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heads);
    let (address, _) = serve("127.0.0.1:0", move |path, head| {
        log.lock().unwrap().push(head.to_ascii_lowercase());
        match path {
            "/" => ok("text/html", "<link rel=icon href='data:,'><script src=/script.js></script><p>page"),
            _ => ok("text/javascript", ""),
        }
    });
    let given = |url: &str| {
        let all = [("User-Agent", "reader/1"), ("Accept-Language", "rm"), ("X-Special", "yes")];
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        if url.ends_with("/script.js") { Vec::new() } else { all }
    };
    let browser = scene.browser().with_headers(Arc::new(given));
    browser.fetch(FetchRequest::get(format!("http://{address}/"))).await.unwrap();
    let heads = heads.lock().unwrap().clone();
    let [page, script] = heads.as_slice() else { panic!("{heads:?}") };
    for line in ["\r\nuser-agent: reader/1\r\n", "\r\naccept-language: rm\r\n", "\r\nx-special: yes\r\n"] {
        assert!(page.contains(line) && !script.contains(line), "{heads:?}");
    }
    for name in ["\r\nuser-agent:", "\r\naccept-language:"] {
        assert!(page.matches(name).count() == 1, "{page}");
    }
    drop(browser);
    scene.assert_nothing_left().await;
}
