//! Sends requests as Crystal does. They accept no content codings, because readers of a project do
//! not decode them. They name every ETag that the project has for the URL, so that the server may
//! answer 304.

use std::sync::Arc;

use varve_fetch::{FetchError, FetchRequest, Fetched, Fetcher, Pending};

use super::SharedProject;

/// A fetcher for a project, on top of another fetcher.
pub(crate) struct CrystalFetcher {
    project: Arc<SharedProject>,
    fetcher: Arc<dyn Fetcher>,
    whole: bool,
}

impl CrystalFetcher {
    /// A fetcher for that project. With `whole`, requests name no ETag.
    pub(crate) fn new(project: Arc<SharedProject>, fetcher: Arc<dyn Fetcher>, whole: bool) -> Self {
        Self { project, fetcher, whole }
    }

    fn tags(&self, url: &str) -> varve_crystal::Result<Option<String>> {
        if self.whole {
            return Ok(None);
        }
        let Some(resource) = self.project.resource(url)? else { return Ok(None) };
        let tags = self.project.ask(|project| {
            // If the body of the newest revision is lost, the request is unconditional.
            let newest = project.default_revision(resource.id, varve_crystal::CaptureChoice::Newest)?;
            let Some(newest) = newest else { return Ok(None) };
            let meant = project.resolve(newest)?.revision;
            match meant.has_body() && project.body_length(meant.id)?.is_none() {
                true => Ok(None),
                false => project.if_none_match(resource.id),
            }
        });
        Ok(tags?.flatten())
    }
}

impl Fetcher for CrystalFetcher {
    fn fetch(&self, mut request: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>> {
        request.headers.push(("Accept-Encoding".to_owned(), "identity".to_owned()));
        // If the lookup fails, the request is unconditional; the writer will report the same error.
        if let Ok(Some(tags)) = self.tags(&request.url) {
            request.headers.push(("If-None-Match".to_owned(), tags));
        }
        self.fetcher.fetch(request)
    }
}
