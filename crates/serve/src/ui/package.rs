//! `/export.wacz`: a page with everything that it embeds, as a WACZ file.
//!
//! It is made in a temporary file and sent from there, so its length is known and memory does not
//! grow with it. It has captures only: nothing is fetched.

use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use http::header::{self, HeaderValue};
use http::request::Parts;
use varve_archive::history::resolve_version;
use varve_archive::verbs::export::wacz::{WaczRequest, export};
use varve_archive::verbs::export::warc::{RevisitHandling, WarcRequest};
use varve_archive::verbs::export::{ExportPages, ExportScope, ExportSelection, ExportTarget};
use varve_archive::{ArchiveError, Date};

use super::{PageResult, UiError, required};
use crate::app_state::AppState;
use crate::archive_failure::ArchiveFailure;
use crate::body::{self, ReadChunks};
use crate::error_page;
use crate::request::RequestParts;
use crate::response::{self, ResponseHeaders};

/// The version whose state is exported if none is given.
const HEAD_NAME: &str = "HEAD";
/// The program that packages name.
const SOFTWARE_NAME: &str = concat!("varve/", env!("CARGO_PKG_VERSION"));

pub(super) fn package(state: &Arc<AppState>, request: &Parts) -> PageResult {
    let url = required(request, "url")?;
    let version = request.parameter("version");
    let version = resolve_version(&state.history, version.as_deref().unwrap_or(HEAD_NAME))?;
    let selection = ExportSelection {
        scope: ExportScope::State(version),
        pages: ExportPages::Documents(vec![url.clone()]),
    };
    let records = WarcRequest {
        selection,
        revisits: RevisitHandling::Deduplicated,
        software: SOFTWARE_NAME,
        clock: Arc::new(|| Date::at_second(chrono::Utc::now())),
        with_proof: false,
    };
    let mut file = tempfile::tempfile().map_err(ArchiveError::temporary)?;
    let package = WaczRequest { records, title: None };
    match export(&state.history, &package, ExportTarget::Stream(&mut file), &|_| {}) {
        Err(ArchiveError::NoCapture { .. }) => return Err(UiError::not_captured(state, &url)),
        exported => exported?,
    };
    send(request, file).map_err(|source| ArchiveError::temporary(source).into())
}

fn send(request: &Parts, mut file: File) -> io::Result<Response> {
    file.rewind()?;
    let length = file.metadata()?.len();
    let response = response::empty(StatusCode::OK)
        .with(header::CONTENT_TYPE, HeaderValue::from_static("application/wacz"))
        .with(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"page.wacz\""));
    let chunks = ReadChunks::new(BufReader::new(file), Some(length));
    Ok(body::stream(request, response, Some(length), chunks, |error: &io::Error| {
        let failure = ArchiveFailure::of_stream(error);
        error_page::plain(failure.status, &error.to_string(), "")
    }))
}
