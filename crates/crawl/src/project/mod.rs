//! Crawls into a Crystal project: responses become revisions.
//!
//! The rules of the project apply. They decide which resource a URL means, how requests are sent
//! (`conditional_fetch`), how failures are named (`download_error`), and what a row holds
//! (`response_head`).
//!
//! Each response waits with its body as a draft until the next checkpoint. Then they become
//! revisions in a few transactions (`pending`), so that a crash leaves each revision complete or
//! absent.
//!
//! A run consists of the revisions after the one that was the newest when it began. The project
//! itself stores only that number. The frontier is in a temporary folder beside the project.

mod conditional_fetch;
mod download_error;
mod pending;
mod request_cookies;
mod response_head;
mod run;
mod writers;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_catalog::CatalogRow;
use varve_core::alias::Aliases;
use varve_core::headers::Redaction;
use varve_core::secret::ShownUrl;
use varve_core::url::RequestUrl;
use varve_core::{Moment, RunId};
use varve_crystal::{OpenReport, Project, ProjectWriter, Resource, ResourceGroup, Revision, RevisionId};
use varve_crystal::{SiteRules, url_alternatives};

use super::crawl_policy::{CrawlPolicy, UrlSpelling};
use super::destination::{Destination, ResponseWriters};
use super::past_captures::{PastLookup, PastQuery, StoredCapture};
use crate::error::CrawlError;
use crate::settings::RefetchSettings;
use conditional_fetch::CrystalFetcher;
use pending::PendingRevisions;
use request_cookies::RequestCookies;
pub use run::{ProjectRun, crawl_into_project};
use writers::ProjectWriters;

/// A project as the destination of a crawl.
pub(crate) struct ProjectDestination {
    open: Arc<SharedProject>,
    pending: Mutex<PendingRevisions>,
    /// The cookies of the run, which are recorded.
    cookies: RequestCookies,
    /// The groups whose known members are requested, each with its number in the plan.
    groups: Vec<(u32, ResourceGroup)>,
    /// Which URLs are requested again.
    refetch: RefetchSettings,
}

/// The project, shared by all threads.
pub struct SharedProject {
    /// `None` after the project is closed.
    writer: Mutex<Option<ProjectWriter>>,
    sites: SiteRules,
    aliases: Aliases,
    /// The newest revision when the run began.
    after: RevisionId,
}

impl SharedProject {
    /// Shares a project with a run that began after that revision.
    pub fn new(writer: ProjectWriter, after: RevisionId) -> Result<Arc<Self>, CrawlError> {
        let aliases = writer.alias_rules()?;
        let sites = SiteRules::built_in();
        Ok(Arc::new(Self { writer: Mutex::new(Some(writer)), sites, aliases, after }))
    }

    fn lock(&self) -> MutexGuard<'_, Option<ProjectWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queries the project; `None` after it is closed.
    fn ask<T>(
        &self,
        ask: impl FnOnce(&Project) -> varve_crystal::Result<T>,
    ) -> varve_crystal::Result<Option<T>> {
        self.lock().as_deref().map(ask).transpose()
    }

    /// Changes the project; does nothing after it is closed.
    pub fn change(
        &self,
        change: impl FnOnce(&mut ProjectWriter) -> varve_crystal::Result<()>,
    ) -> varve_crystal::Result<()> {
        self.lock().as_mut().map_or(Ok(()), change)
    }

    /// The resource that the project stores under a URL.
    fn resource(&self, url: &str) -> varve_crystal::Result<Option<Resource>> {
        Ok(self.ask(|project| project.resource_at(url))?.flatten())
    }

    /// The URL under which the project stores, or would store, the resource that `text` means.
    /// `None` if it is not a web URL, has user information, or an alias marks it as external.
    pub fn address(&self, text: &str) -> Option<String> {
        let known = url_alternatives(text.trim(), &self.sites, &self.aliases);
        let begins_so = known.urls.first().is_some_and(|url| is_web(url));
        if !begins_so || ShownUrl(text).has_user_info() {
            return None;
        }
        let found = known.urls.iter().find_map(|url| self.resource(url).ok().flatten());
        match (found, &known.external) {
            (Some(resource), None) => Some(resource.url).filter(|url| is_web(url)),
            (None, None) => Some(known.canonical().to_owned()).filter(|url| is_web(url)),
            (_, Some(_)) => None,
        }
    }

    /// Whether an alias says that a URL stays on the live web.
    pub fn is_external(&self, text: &str) -> bool {
        url_alternatives(text.trim(), &self.sites, &self.aliases).external.is_some()
    }

    /// [`Self::address`] as the function that the crawl policy uses.
    pub(crate) fn spelling(self: &Arc<Self>) -> UrlSpelling {
        let open = Arc::clone(self);
        Arc::new(move |text| RequestUrl::verbatim(&open.address(text)?))
    }

    /// The newest revision when the run began.
    pub const fn after(&self) -> RevisionId {
        self.after
    }

    /// The report of opening the project, and its folder.
    pub fn about(&self) -> Result<(OpenReport, PathBuf), CrawlError> {
        let lock = self.lock();
        let writer = lock.as_ref().ok_or(CrawlError::NoRun)?;
        Ok((writer.report().clone(), writer.path().to_owned()))
    }

    /// Closes the project. Later calls through other references find it closed.
    pub fn close(
        &self,
        last: impl FnOnce(&mut ProjectWriter) -> varve_crystal::Result<()>,
    ) -> Result<(), CrawlError> {
        let Some(mut writer) = self.lock().take() else { return Ok(()) };
        last(&mut writer)?;
        Ok(writer.close()?)
    }
}

fn is_web(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

impl ProjectDestination {
    /// A destination for this project.
    pub(crate) fn new(
        open: Arc<SharedProject>,
        cookies: RequestCookies,
        groups: Vec<(u32, ResourceGroup)>,
        refetch: RefetchSettings,
    ) -> Self {
        Self { open, pending: Mutex::default(), cookies, groups, refetch }
    }

    /// Whether a revision makes a request unnecessary. As in Crystal, a failure is a revision like
    /// others, and a revision is stale if it was requested without the cookies that the user gives.
    fn is_fresh(&self, url: &str, revision: &Revision) -> bool {
        if self.cookies.differ_from(url, revision.request_cookie.as_ref()) {
            return false;
        }
        let metadata = revision.metadata().ok().flatten();
        let time = metadata.and_then(|metadata| metadata.fetched_at()).map(Moment::from);
        self.refetch.is_fresh(time, !revision.has_body())
    }

    /// The newest capture of a URL, if it is of this run or fresh.
    fn past_of(&self, url: &str) -> Result<PastLookup, CrawlError> {
        let Some(resource) = self.open.resource(url)? else { return Ok(PastLookup::Nothing) };
        let newest =
            self.open.ask(|project| project.revision_of_at(resource.id, RevisionId(i64::MAX)))?.flatten();
        Ok(match newest {
            Some(newest) if newest.id > self.open.after => {
                PastLookup::ThisRun(StoredCapture::Revision(newest.id))
            }
            Some(newest) if self.is_fresh(url, &newest) => {
                PastLookup::Fresh(StoredCapture::Revision(newest.id))
            }
            _ => PastLookup::Nothing,
        })
    }

    fn pending(&self) -> MutexGuard<'_, PendingRevisions> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Destination for ProjectDestination {
    fn redaction(&self) -> Redaction {
        Redaction::On
    }

    fn past(&self, _: RunId, queries: &[PastQuery<'_>]) -> Result<Vec<PastLookup>, CrawlError> {
        queries.iter().map(|query| self.past_of(query.url.as_str())).collect()
    }

    fn writers<'w>(
        &'w self,
        _: RunId,
        policy: &'w CrawlPolicy,
    ) -> Result<Box<dyn ResponseWriters + 'w>, CrawlError> {
        Ok(Box::new(ProjectWriters { destination: self, policy }))
    }

    fn failed(&self, url: &str, kind: &str, message: &str) {
        let cookie = self.cookies.sent_to(url);
        self.pending().fail(url, kind, message, cookie);
    }

    fn save(&self, _: Vec<CatalogRow>) -> Result<(), CrawlError> {
        let waiting = self.pending().take();
        match &mut *self.open.lock() {
            Some(writer) => Ok(waiting.keep_in(writer)?),
            None => Ok(()),
        }
    }

    /// Members of the groups that the project knows from links and that are to be requested.
    fn members(&self, each: &mut dyn FnMut(String, u32) -> Result<(), CrawlError>) -> Result<(), CrawlError> {
        let lock = self.open.lock();
        let Some(project) = lock.as_deref() else { return Ok(()) };
        for (number, group) in &self.groups {
            for member in project.members(group) {
                let member = member?;
                let newest = project.revision_of_at(member.id, RevisionId(i64::MAX))?;
                let is_done =
                    |newest: &Revision| newest.id > self.open.after || self.is_fresh(&member.url, newest);
                if !newest.as_ref().is_some_and(is_done)
                    && is_web(&member.url)
                    && !ShownUrl(&member.url).has_user_info()
                {
                    each(member.url, *number)?;
                }
            }
        }
        Ok(())
    }
}
