//! Asking as Crystal asks: without content codings, which its readers do not undo, and with every tag that the project
//! has for a URL, so that a server may say that nothing changed.

use std::sync::Arc;

use varve_fetch::{FetchError, FetchRequest, Fetched, Fetcher, Pending};

use super::SharedProject;

/// Requests for a project, through another fetcher.
pub(crate) struct CrystalFetcher {
    project: Arc<SharedProject>,
    fetcher: Arc<dyn Fetcher>,
    whole: bool,
}

impl CrystalFetcher {
    /// Requests for that project. With `whole`, no tag is said.
    pub(crate) fn new(project: Arc<SharedProject>, fetcher: Arc<dyn Fetcher>, whole: bool) -> Self {
        Self { project, fetcher, whole }
    }

    fn tags(&self, url: &str) -> varve_crystal::Result<Option<String>> {
        if self.whole {
            return Ok(None);
        }
        let Some(resource) = self.project.resource(url)? else { return Ok(None) };
        let tags = self.project.ask(|project| {
            // Where the body that a tag stands for was lost, it is asked for as if it had never been here.
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
        // What cannot be looked up is asked for without conditions; whoever keeps the answer meets the same trouble.
        if let Ok(Some(tags)) = self.tags(&request.url) {
            request.headers.push(("If-None-Match".to_owned(), tags));
        }
        self.fetcher.fetch(request)
    }
}
