//! Pages of the live web that are read without an archive. Nothing is stored.

use std::sync::Arc;

use tokio::runtime::Builder;
use varve_core::history::{DomainSettings, FetchMethod};
use varve_crawl::CrawlError;
use varve_extract::ExtractedPage;
use varve_repository::RepositoryError;

use super::host_turns::HostTurns;
use super::live_page::{LiveFetcher, LivePage};
use super::page_service::with_request;
use super::read_page;
use super::url_request::UrlRequest;
use super::{PageError, PageServiceOptions};
use crate::error::ArchiveError;

/// Fetches a page and reads it.
pub fn fetch_unsaved(
    url: &str,
    method: FetchMethod,
    options: &PageServiceOptions,
) -> Result<ExtractedPage, PageError> {
    let request = UrlRequest::parse(url)?;
    let live = fetch_live(&request, method, options)?;
    Ok(with_request(read_page::of_live_page(&live, &options.extract)?.page, &request))
}

/// Fetches a feed, and returns its links.
pub fn unsaved_feed_links(url: &str, options: &PageServiceOptions) -> Result<Vec<String>, PageError> {
    let request = UrlRequest::parse(url)?;
    read_page::feed_links(&fetch_live(&request, FetchMethod::Direct, options)?)
}

fn fetch_live(
    request: &UrlRequest,
    method: FetchMethod,
    options: &PageServiceOptions,
) -> Result<LivePage, PageError> {
    let folder = tempfile::tempdir().map_err(RepositoryError::write(&std::env::temp_dir()))?;
    let turns = Arc::new(HostTurns::new(options.delay));
    let no_settings = Arc::new(|_: &str| Ok(DomainSettings::default()));
    let fetcher = LiveFetcher::new(options, &options.network, &folder.path().into(), turns, no_settings)?;
    let failed = |source| ArchiveError::from(CrawlError::Threads(source));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(fetcher.fetch(&request.sent, method))
}
