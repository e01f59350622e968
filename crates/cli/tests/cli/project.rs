//! Crystal projects for these tests, made by the crate that writes them.

use std::io::Write;
use std::path::{Path, PathBuf};

use varve_crystal::{
    CreateOptions, DownloadError, DownloadOutcome, MajorVersion, NewRevision, ProjectWriter, ResponseMetadata,
};

/// One download of a page: response and body, or an error.
pub(crate) struct Download {
    pub(crate) url: String,
    pub(crate) got: Result<(Option<ResponseMetadata>, Vec<u8>), DownloadError>,
}

impl Download {
    /// A response of which only the body is known.
    pub(crate) fn plain(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { url: url.into(), got: Ok((None, body.into())) }
    }

    /// An HTTP response.
    pub(crate) fn answer(url: &str, status: i64, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let metadata = ResponseMetadata {
            http_version: 11,
            status_code: status,
            reason_phrase: "OK".to_owned(),
            headers,
        };
        Self { url: url.to_owned(), got: Ok((Some(metadata), body.to_vec())) }
    }

    /// No response.
    pub(crate) fn failed(url: &str, error: DownloadError) -> Self {
        Self { url: url.to_owned(), got: Err(error) }
    }
}

/// Makes a project of these downloads, in their order. The first page is a root.
pub(crate) fn make(
    path: &Path,
    version: MajorVersion,
    downloads: impl IntoIterator<Item = Download>,
) -> PathBuf {
    let mut writer = ProjectWriter::create_to_fill(path, CreateOptions { version, watcher: None }).unwrap();
    let mut new = Vec::new();
    for Download { url, got } in downloads {
        let resource = match new.is_empty() {
            true => writer.add_root("Home", &url).unwrap().resource,
            false => writer.add_resource(&url).unwrap().id,
        };
        let outcome = match got {
            Ok((metadata, bytes)) => {
                let mut body = writer.begin_body().unwrap();
                body.write_all(&bytes).unwrap();
                DownloadOutcome::Fetched { metadata, body }
            }
            Err(error) => DownloadOutcome::Failed(error),
        };
        new.push(NewRevision { id: None, resource, request_cookie: None, outcome });
    }
    writer.add_revisions(new).unwrap();
    let path = writer.path().to_owned();
    writer.close().unwrap();
    path
}
