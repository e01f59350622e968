//! An archive in a temporary folder, and a client that calls its routers.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use http_body::Body as _;
use serde_json::Value;
use tokio::runtime::Runtime;
use tower::ServiceExt;
use varve_archive::history::{open_reader_choosing, open_writer};
use varve_archive::pages::PageService;
use varve_archive::verbs::commit::{self, NewBody, NewPage};
use varve_archive::verbs::init::init;
use varve_archive::{ArchiveSettings, CaptureChoice, Date, WriterOptions};
use varve_core::headers::Headers;
use varve_serve::token::SigningKey;
use varve_serve::{Origins, ServeSettings};

/// Host and port of the UI origin.
pub(crate) const UI_HOST: &str = "127.0.0.1:8080";
/// Host and port of the replay origin.
pub(crate) const REPLAY_HOST: &str = "127.0.0.1:8081";

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap());

/// An archive or a Moku site in a temporary folder.
pub(crate) struct Museum {
    folder: tempfile::TempDir,
}

impl Museum {
    pub(crate) fn new(is_archive: bool) -> Self {
        let museum = Self { folder: tempfile::tempdir().unwrap() };
        match is_archive {
            true => init(&museum.root(), &ArchiveSettings::new("museum"), opening()).unwrap(),
            false => std::fs::create_dir_all(museum.path(".moku")).unwrap(),
        }
        museum
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("museum")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Commits pages, each an object with the fields of `varve commit --lines`, as one version.
    pub(crate) fn commit(&self, pages: &[Value], message: &str) {
        let history = open_writer(&self.root(), opening()).unwrap();
        let request = commit::Request { message: message.to_owned(), threads: 1, ..Default::default() };
        let pages: Vec<_> = pages.iter().map(new_page).collect();
        commit::commit(&history, &request, pages, &|_| {}).unwrap();
    }

    /// The routers over this archive, without the extraction API.
    pub(crate) fn serve(&self) -> TestOrigins {
        self.serve_with(None, None)
    }

    /// The routers over this archive.
    pub(crate) fn serve_with(
        &self,
        pages: Option<PageService>,
        signing_key: Option<SigningKey>,
    ) -> TestOrigins {
        let history = open_reader_choosing(&self.root(), CaptureChoice::Newest).unwrap();
        let settings = ServeSettings {
            name: "museum".to_owned(),
            size: Box::new(|| Some(1000)),
            listen: UI_HOST.parse().unwrap(),
            replay_listen: REPLAY_HOST.parse().unwrap(),
            hosts: Vec::new(),
            pages,
            signing_key,
        };
        TestOrigins(Origins::new(history, settings))
    }
}

pub(crate) fn opening() -> WriterOptions {
    let clock = Arc::new(|| Date::parse(b"2026-11-16T12:00:00Z").unwrap());
    WriterOptions { holder: "a test".to_owned(), software: "varve".to_owned(), clock }
}

fn new_page(page: &Value) -> NewPage {
    let text = |name: &str| page.get(name).and_then(Value::as_str);
    let body = match text("body_base64") {
        Some(body) => data_encoding::BASE64.decode(body.as_bytes()).unwrap(),
        None => text("body").unwrap().as_bytes().to_vec(),
    };
    let mut headers = Headers::new();
    for (name, value) in page.get("headers").and_then(Value::as_object).into_iter().flatten() {
        headers.push(name.as_bytes(), value.as_str().unwrap());
    }
    NewPage {
        url: text("url").unwrap().to_owned(),
        time: text("time").map(|time| time.parse().unwrap()),
        status: page
            .get("status")
            .and_then(Value::as_u64)
            .map_or(200, |status| u16::try_from(status).unwrap()),
        headers,
        body: NewBody::Bytes(body),
    }
}

/// A response that was read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: http::HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Whether the body ended without an error, with the announced length.
    pub(crate) is_whole: bool,
}

impl Reply {
    /// The only value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next();
        assert_eq!(values.next(), None, "{name} comes twice");
        value.map(|value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> String {
        assert!(self.is_whole, "the body was cut: {self:?}");
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// The routers of both origins, called without sockets.
pub(crate) struct TestOrigins(Origins);

impl TestOrigins {
    /// GET on the replay origin.
    pub(crate) fn get(&self, target: &str) -> Reply {
        self.get_with(target, &[])
    }

    /// GET on the replay origin with further headers.
    pub(crate) fn get_with(&self, target: &str, headers: &[(&str, &str)]) -> Reply {
        self.request(REPLAY_HOST, "GET", target, headers)
    }

    /// GET on the UI origin.
    pub(crate) fn page(&self, target: &str) -> Reply {
        self.request(UI_HOST, "GET", target, &[])
    }

    /// A request to the origin at `host`.
    pub(crate) fn request(&self, host: &str, method: &str, target: &str, headers: &[(&str, &str)]) -> Reply {
        self.send(host, method, target, headers, "")
    }

    /// A request with a body to the origin at `host`.
    pub(crate) fn send(
        &self,
        host: &str,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let router = if host == UI_HOST { &self.0.ui } else { &self.0.replay };
        let mut request = http::Request::builder().method(method).uri(target);
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request = request.header("host", host);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let Ok(request) = request.body(Body::from(body.to_owned())) else {
            // The HTTP parser refuses such a target before any router sees it.
            return Reply { status: 400, headers: http::HeaderMap::new(), body: Vec::new(), is_whole: true };
        };
        RUNTIME.block_on(call(router.clone(), request))
    }
}

async fn call(router: Router, request: http::Request<Body>) -> Reply {
    let is_head = request.method() == http::Method::HEAD;
    let (parts, mut body) = router.oneshot(request).await.unwrap().into_parts();
    let (mut bytes, mut is_whole) = (Vec::new(), true);
    while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        match frame {
            Ok(frame) => bytes.extend_from_slice(&frame.into_data().unwrap_or_default()),
            Err(_) => {
                is_whole = false;
                break;
            }
        }
    }
    if let Some(length) = parts.headers.get("content-length").filter(|_| !is_head) {
        is_whole &= length.to_str().unwrap() == bytes.len().to_string();
    }
    Reply { status: parts.status.as_u16(), headers: parts.headers, body: bytes, is_whole }
}
