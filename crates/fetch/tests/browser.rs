//! Pages in a real Chromium, from a server on loopback. Skipped where there is no Chromium.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use varve_fetch::browser::{Browser, BrowserOptions};
use varve_fetch::{
    AddressGuard, Client, FetchError, FetchErrorKind, FetchRequest, Fetched, Fetcher, HttpClientOptions,
    RenderingKind,
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

/// Captures in a folder of its own, and looks whether anything is left.
struct Studio {
    /// One at a time: children that ended are counted for the whole process.
    _turn: MutexGuard<'static, ()>,
    folder: tempfile::TempDir,
    options: BrowserOptions,
    guard: AddressGuard,
}

impl Studio {
    fn new() -> Option<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let executable = varve_testkit::chromium()?;
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let options = BrowserOptions::new(executable, folder.path());
        Some(Self { _turn: turn, folder, options, guard: AddressGuard::allow_private() })
    }

    fn browser(&self) -> Browser {
        let mut options = HttpClientOptions::new(self.folder.path());
        options.guard = self.guard.clone();
        Browser::new(Client::new(options).unwrap(), self.options.clone())
    }

    async fn capture(&self, url: String) -> Result<Fetched, FetchError> {
        self.browser().fetch(FetchRequest::get(url)).await
    }

    /// Waits until no process of this capture is left, and no profile. Fails if that never comes.
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
async fn a_page_with_all_that_it_asks_for() {
    let Some(studio) = Studio::new() else { return };
    let (address, seen) = serve("127.0.0.1:0", site);
    let fetched = studio.capture(format!("http://{address}/")).await.unwrap();
    let urls: Vec<&str> = fetched.exchanges.iter().map(|exchange| exchange.url.as_str()).collect();
    assert_eq!(urls[..2], [format!("http://{address}/"), format!("http://{address}/page")]);
    for path in ["style.css", "picture.svg", "frame.html", "data.json", "own-worker.js", "from-worker"] {
        assert!(urls.contains(&format!("http://{address}/{path}").as_str()), "{path} is not in {urls:?}");
    }
    assert!(!urls.iter().any(|url| url.ends_with("/socket") || url.ends_with("/worker.js")), "{urls:?}");
    assert!(!seen.lock().unwrap().iter().any(|path| path == "/socket"), "the socket went around us");
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
    studio.assert_nothing_left().await;
}

#[tokio::test]
async fn the_guard_stands_before_every_request_of_a_page() {
    let Some(mut studio) = Studio::new() else { return };
    studio.guard = AddressGuard::new();
    studio.guard.allow("127.0.0.1").unwrap();
    let (inside, touched) = serve("127.0.0.2:0", |_, _| ok("text/plain", "secret"));
    let page =
        format!("<img src=http://{inside}/a><script>fetch('http://{inside}/b',{{mode:'no-cors'}})</script>");
    let (address, _) = serve("127.0.0.1:0", move |_, _| ok("text/html", &page));
    let fetched = studio.capture(format!("http://{address}/")).await.unwrap();
    assert_eq!(touched.lock().unwrap().len(), 0, "the private server was reached");
    assert!(fetched.exchanges.iter().all(|exchange| exchange.url.starts_with(&format!("http://{address}/"))));
    for path in ["a", "b"] {
        let url = format!("http://{inside}/{path}");
        let told: Vec<_> = fetched.refused.iter().filter(|(refused, _)| *refused == url).collect();
        assert!(told.len() == 1 && told[0].1.contains("loopback"), "{:?}", fetched.refused);
    }
    assert_eq!(fetched.notes, Vec::<String>::new());
}

#[tokio::test]
async fn a_page_that_never_settles_is_taken_as_it_is() {
    let Some(mut studio) = Studio::new() else { return };
    studio.options.patience = Duration::from_secs(4);
    let (address, _) = serve("127.0.0.1:0", |path, _| match path {
        "/" => ok("text/html", "<p>here</p><img src=/never>"),
        _ => None,
    });
    let fetched = studio.capture(format!("http://{address}/")).await.unwrap();
    assert_eq!(fetched.exchanges.len(), 1);
    assert!(
        fetched.notes.iter().any(|note| note.contains("had not settled after 4 s")),
        "{:?}",
        fetched.notes
    );
    assert!(String::from_utf8_lossy(&fetched.renderings[0].content).contains("<p>here</p>"));
    studio.assert_nothing_left().await;
}

/// Its scripts never rest, so it answers nothing: the time that it was given is not given once more
/// for each question.
#[tokio::test]
async fn a_page_that_never_rests_is_left_soon_after_its_time() {
    let Some(mut studio) = Studio::new() else { return };
    studio.options.patience = Duration::from_secs(3);
    let (address, _) =
        serve("127.0.0.1:0", |_, _| ok("text/html", "<p>here</p><script>while (true) {}</script>"));
    let began = std::time::Instant::now();
    let fetched = studio.capture(format!("http://{address}/")).await.unwrap();
    assert_eq!((fetched.exchanges.len(), fetched.renderings.len()), (1, 0));
    assert!(began.elapsed() < Duration::from_secs(17), "{:?}", began.elapsed());
    studio.assert_nothing_left().await;
}

/// A code that has no name is shown like any other.
#[tokio::test]
async fn a_code_without_a_name_is_shown() {
    let Some(studio) = Studio::new() else { return };
    for answer in ["999 Request denied", "599", "200 \u{1}\u{7f}"] {
        let (address, _) = serve("127.0.0.1:0", move |_, _| {
            Some(format!(
                "HTTP/1.1 {answer}\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\n<p>here</p>"
            ))
        });
        let fetched = studio.capture(format!("http://{address}/")).await.unwrap();
        assert_eq!(fetched.notes, Vec::<String>::new(), "{answer:?}");
        assert!(
            String::from_utf8_lossy(&fetched.renderings[0].content).contains("<p>here</p>"),
            "{answer:?}"
        );
    }
    studio.assert_nothing_left().await;
}

/// What has come by then is kept, and nothing else is waited for.
#[tokio::test]
async fn a_page_whose_time_is_over_is_kept_as_far_as_it_came() {
    let Some(studio) = Studio::new() else { return };
    let (address, _) = serve("127.0.0.1:0", |path, _| match path {
        "/" => ok("text/html", "<p>here</p><img src=/never>"),
        "/drip" => Some("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<p>here".to_owned()),
        _ => None,
    });
    for (path, truncated) in [("/", None), ("/drip", Some(TruncationReason::Time))] {
        let mut request = FetchRequest::get(format!("http://{address}{path}"));
        request.until = Some(Instant::now() + Duration::from_secs(8));
        let fetched = studio.browser().fetch(request).await.unwrap();
        assert_eq!(fetched.exchanges.len(), 1, "{path}");
        assert_eq!(fetched.exchanges[0].truncated, truncated, "{path}");
        assert!(fetched.unfinished && fetched.renderings.is_empty(), "{path}");
        assert_eq!(fetched.notes.len(), 1, "{:?}", fetched.notes);
        studio.assert_nothing_left().await;
    }
    let mut late = FetchRequest::get(format!("http://{address}/"));
    late.until = Some(Instant::now());
    let error = studio.browser().fetch(late).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Timeout, "{error}");
    studio.assert_nothing_left().await;
}

/// Temporary files of a browser are in its profile, which is removed however the processes end.
#[tokio::test]
async fn a_browser_leaves_nothing_elsewhere() {
    let Some(studio) = Studio::new() else { return };
    let (folder, found) = (studio.folder.path().to_owned(), std::sync::Arc::new(Mutex::new(Vec::new())));
    let log = std::sync::Arc::clone(&found);
    let (address, _) = serve("127.0.0.1:0", move |_, _| {
        let profiles = std::fs::read_dir(&folder).unwrap().flatten();
        let temporary = profiles.flat_map(|profile| std::fs::read_dir(profile.path().join("tmp"))).flatten();
        log.lock().unwrap().extend(temporary.flatten().map(|entry| entry.file_name()));
        ok("text/html", "<p>here</p>")
    });
    studio.capture(format!("http://{address}/")).await.unwrap();
    let found = found.lock().unwrap().clone();
    assert!(found.iter().any(|name| name.to_string_lossy().starts_with("org.chromium.")), "{found:?}");
    studio.assert_nothing_left().await;
}

#[tokio::test]
async fn a_page_that_cannot_be_had_is_the_error_of_its_request() {
    let Some(studio) = Studio::new() else { return };
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = studio.capture(format!("http://{gone}/")).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Refused);
    studio.assert_nothing_left().await;
}

/// It is never loaded, and there is nothing to wait for.
#[tokio::test]
async fn a_download_is_had_and_not_waited_for() {
    let Some(mut studio) = Studio::new() else { return };
    studio.options.patience = Duration::from_secs(600);
    let (address, _) = serve("127.0.0.1:0", |_, _| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Disposition: attachment\r\n";
        Some(format!("{head}Content-Length: 5\r\n\r\nbytes"))
    });
    let capture = studio.capture(format!("http://{address}/"));
    let fetched = tokio::time::timeout(Duration::from_secs(120), capture).await.unwrap().unwrap();
    assert_eq!(fetched.exchanges.len(), 1);
    assert!(fetched.renderings.iter().all(|rendering| rendering.kind != RenderingKind::Document));
    assert!(!fetched.notes.iter().any(|note| note.contains("settled")), "{:?}", fetched.notes);
    studio.assert_nothing_left().await;
}

#[tokio::test]
async fn a_crash_loses_one_page_and_leaves_nothing() {
    let Some(studio) = Studio::new() else { return };
    let folder = studio.folder.path().to_owned();
    let (address, _) = serve("127.0.0.1:0", move |_, _| {
        for id in processes_of(&folder) {
            let _ = std::process::Command::new("kill").args(["-9", &id.to_string()]).status();
        }
        ok("text/html", "too late")
    });
    let error = studio.capture(format!("http://{address}/")).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Browser, "{error}");
    studio.assert_nothing_left().await;
}

#[tokio::test]
async fn giving_up_in_the_middle_leaves_nothing() {
    let Some(studio) = Studio::new() else { return };
    let (address, seen) = serve("127.0.0.1:0", |_, _| None);
    let capture = studio.capture(format!("http://{address}/"));
    tokio::select! {
        _ = capture => panic!("a server that never answers was captured"),
        () = async {
            while seen.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        } => {}
    }
    studio.assert_nothing_left().await;
}

#[tokio::test]
async fn a_browser_that_is_not_there_is_said() {
    let Some(mut studio) = Studio::new() else { return };
    studio.options = BrowserOptions::new("/no/such/browser", studio.folder.path());
    let error = studio.capture("http://example.com/".to_owned()).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Browser);
    studio.assert_nothing_left().await;
}
