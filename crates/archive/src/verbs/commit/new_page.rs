//! A page to commit, and the checks before anything is stored.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use varve_core::Moment;
use varve_core::headers::Headers;
use varve_core::secret::ShownUrl;
use varve_core::url::normalise;
use varve_repository::media_type::{OCTET_STREAM, is_media_type, of_name};

use super::super::capture::refuse_user_info;
use crate::error::ArchiveError;

pub(super) const CONTENT_TYPE_HEADER: &str = "content-type";

/// The body of a page to commit.
#[derive(Clone, Debug)]
pub enum NewBody {
    /// The content of a file.
    File(PathBuf),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A page to commit.
#[derive(Clone, Debug)]
pub struct NewPage {
    /// Its URL.
    pub url: String,
    /// When it was captured; default: now.
    pub time: Option<Moment>,
    /// The status of its response.
    pub status: u16,
    /// The headers of its response.
    pub headers: Headers,
    /// Its body.
    pub body: NewBody,
}

/// Normalises a URL. A URL with a user name or password is refused, because committed data is
/// permanent.
pub(crate) fn normal_url(text: &str) -> Result<String, ArchiveError> {
    refuse_user_info(text)?;
    normalise(text).map_err(|source| ArchiveError::NotAUrl { text: ShownUrl(text).to_string(), source })
}

/// Normalises the URL of each page, because lookups use the normalised form. Refuses duplicates.
pub(super) fn settle_urls(pages: &mut [NewPage]) -> Result<(), ArchiveError> {
    if pages.is_empty() {
        return Err(ArchiveError::NothingToCommit);
    }
    for page in &mut *pages {
        page.url = normal_url(&page.url)?;
    }
    let mut urls = HashSet::with_capacity(pages.len());
    match pages.iter().find(|page| !urls.insert(page.url.as_str())) {
        Some(page) => Err(ArchiveError::DuplicatePage(page.url.clone())),
        None => Ok(()),
    }
}

/// Refuses pages over the maximum length before any page is stored.
pub(super) fn refuse_long(pages: &[NewPage], largest: Option<u64>) -> Result<(), ArchiveError> {
    pages.iter().try_for_each(|page| refuse_long_page(page, largest))
}

/// Refuses a page over the maximum length.
pub(super) fn refuse_long_page(page: &NewPage, largest: Option<u64>) -> Result<(), ArchiveError> {
    let Some(largest) = largest else { return Ok(()) };
    let length = match &page.body {
        NewBody::Bytes(bytes) => bytes.len() as u64,
        NewBody::File(path) => fs::metadata(path).map_err(ArchiveError::read(path))?.len(),
    };
    if length > largest {
        return Err(ArchiveError::TooLong { url: page.url.clone(), length, largest });
    }
    Ok(())
}

/// Refuses headers that would change the meaning of a response when it is written out. Refuses
/// times that would precede every later capture in a listing; a clock may be one day ahead.
pub(super) fn refuse_unsound(pages: &[NewPage], now: Moment) -> Result<(), ArchiveError> {
    const DAY_MICROSECONDS: i64 = 24 * 60 * 60 * 1_000_000;
    let latest = Moment::from_micros(now.micros().saturating_add(DAY_MICROSECONDS));
    for page in pages {
        refuse_invalid_headers(&page.url, &page.headers)?;
        if let Some(time) = page.time.filter(|time| *time > latest) {
            return Err(ArchiveError::InFuture { url: page.url.clone(), time });
        }
    }
    Ok(())
}

/// Refuses headers that would change the meaning of a response when it is written out.
pub(super) fn refuse_invalid_headers(url: &str, headers: &Headers) -> Result<(), ArchiveError> {
    match headers.iter().find(|(name, value)| !varve_wire::is_valid_header(name, value)) {
        Some((name, _)) => {
            let name = String::from_utf8_lossy(name).into_owned();
            Err(ArchiveError::NotAHeader { url: url.to_owned(), name })
        }
        None => Ok(()),
    }
}

/// The media type from the headers, or else from the file name.
pub(super) fn media_type_of(page: &NewPage) -> String {
    let said = page.headers.get_text(CONTENT_TYPE_HEADER).filter(|text| is_media_type(text));
    match (said, &page.body) {
        (Some(said), _) => said.into_owned(),
        (None, NewBody::File(path)) => of_name(path).to_owned(),
        (None, NewBody::Bytes(_)) => OCTET_STREAM.to_owned(),
    }
}
