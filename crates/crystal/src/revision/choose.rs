//! Which of a resource's revisions to show, and which are stale.
//!
//! Crystal shows the one with the highest id even if it records an error, which hides every older good one.
//! [`Choice::NewestGood`] looks past those, and past answers that were cut short. Staleness depends on a session, which no project remembers.

use chrono::{DateTime, Utc};
use varve_core::history::Choice;
use varve_core::secret::Secret;

use crate::error::Result;
use crate::ids::{ResourceId, RevisionId};
use crate::project::Project;
use crate::rows::{Resource, Revision};

/// What a session asks of revisions. It is never written into a project.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// The cookie that is sent to the project's own site.
    pub cookie: Option<Secret<String>>,
    /// Revisions from this time or before are stale.
    pub fetched_after: Option<DateTime<Utc>>,
}

impl Session {
    /// Whether the session asks for a newer revision than this one.
    fn is_stale(&self, revision: &Revision, cookie_applies: bool) -> bool {
        let other_cookie = cookie_applies && self.cookie.is_some() && self.cookie != revision.request_cookie;
        let fetched_at = || revision.metadata().ok().flatten()?.fetched_at();
        other_cookie || self.fetched_after.is_some_and(|limit| fetched_at().is_some_and(|at| at <= limit))
    }
}

impl Project {
    /// The revision that stands for a resource, if it has any.
    pub fn default_revision(&self, resource: ResourceId, choice: Choice) -> Result<Option<Revision>> {
        self.default_revision_at(resource, RevisionId(i64::MAX), choice)
    }

    /// The revision that stood for a resource when `newest` was the newest of all.
    pub fn default_revision_at(
        &self,
        resource: ResourceId,
        newest: RevisionId,
        choice: Choice,
    ) -> Result<Option<Revision>> {
        if choice == Choice::Newest {
            return self.revision_of_at(resource, newest);
        }
        choice.choose(self.revisions_of_down_from(resource, newest), |revision| self.is_good(revision))
    }

    /// The newest revision that the session does not find stale.
    pub fn fresh_revision(&self, resource: &Resource, session: &Session) -> Result<Option<Revision>> {
        let cookie_applies = session.cookie.is_some() && self.cookie_applies(&resource.url)?;
        for revision in self.revisions_of(resource.id) {
            let revision = revision?;
            if !session.is_stale(&revision, cookie_applies) {
                return Ok(Some(revision));
            }
        }
        Ok(None)
    }

    /// Whether a session's cookie is sent to this URL: only to pages under the project's prefix.
    pub fn cookie_applies(&self, url: &str) -> Result<bool> {
        let Some(prefix) = self.default_url_prefix()? else { return Ok(false) };
        let rest = url.strip_prefix(&prefix);
        Ok(!prefix.ends_with('/') && rest.is_some_and(|rest| rest.starts_with('/')))
    }

    /// Whether a revision's body is shorter than its `Content-Length` says: the server hung up before the end. Crystal
    /// records that as it records any answer.
    pub fn is_cut_short(&self, revision: &Revision) -> Result<bool> {
        let promised = revision.metadata().ok().flatten().and_then(|metadata| metadata.promised_length());
        let Some(promised) = promised.filter(|_| revision.has_body()) else { return Ok(false) };
        Ok(self.body_length(revision.id)?.is_some_and(|length| length < promised))
    }

    fn is_good(&self, revision: &Revision) -> Result<bool> {
        let status = match revision.metadata() {
            Ok(metadata) => metadata.map_or(200, |metadata| metadata.status_code),
            Err(_) => return Ok(false),
        };
        let is_whole = revision.has_body()
            && self.body_length(revision.id)?.is_some()
            && !self.is_cut_short(revision)?;
        Ok(Choice::is_good(status, is_whole))
    }
}
