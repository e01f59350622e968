//! `plan members`: the pages of a group, and which of them were never captured.
//!
//! A Crystal project knows every URL that it ever saw in a link, so its members are rows. An archive
//! knows the URLs that it captured; the others are in the links of the pages on which the group is
//! found. These pages are read for them, each in its newest good capture.

use std::collections::BTreeSet;

use varve_core::alias::{AliasTarget, Aliases};
use varve_core::history::ListCursor;
use varve_core::pattern::{AtSign, GroupPattern};
use varve_core::url::{page_identity, request_url};
use varve_crystal::Project;
use varve_page::links::{LinkFormat, LinkLimits, LinkRole, PageLink, extract};
use varve_plan::{EditError, Group, Plan};
use varve_repository::history::HistoryReader;
use varve_repository::{ArchivePaths, RepositoryError};

use super::suggest::captured_headers;
use super::{is_project, load};
use crate::error::ArchiveError;
use crate::verbs::cat::{CaptureSelector, find};
use crate::verbs::crystal::plan::PlanRows;
use crate::verbs::replay::known_as;

/// URLs that are read from the catalog at a time.
const URL_BATCH_ROWS: usize = 500;

/// A page of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Its URL.
    pub url: String,
    /// Whether it was captured.
    pub is_captured: bool,
}

/// Receives the members of a group.
pub(super) type OnMember<'a> = &'a mut dyn FnMut(GroupMember);

/// Hands on the members of the group with this name or pattern: the captured ones in the order of
/// their URLs, and the others, in a project among them and in an archive after them.
pub fn members(
    layout: &ArchivePaths,
    history: &HistoryReader,
    group: &str,
    each: OnMember<'_>,
) -> Result<(), ArchiveError> {
    let source = MemberSource::open(layout, history)?;
    let at = source.position(group)?;
    source.members(at, each)
}

/// A plan, and the place that knows the members of its groups.
pub(super) struct MemberSource<'h> {
    pub(super) plan: Plan,
    history: &'h HistoryReader,
    project: Option<(Project, PlanRows)>,
}

impl<'h> MemberSource<'h> {
    pub(super) fn open(layout: &ArchivePaths, history: &'h HistoryReader) -> Result<Self, ArchiveError> {
        if !is_project(layout) {
            return Ok(Self { plan: load(layout)?.plan, history, project: None });
        }
        let project = Project::open(layout.root())?;
        let rows = PlanRows::read(&project)?;
        Ok(Self { plan: rows.plan.clone(), history, project: Some((project, rows)) })
    }

    /// The group with this name, or else with this pattern.
    fn position(&self, group: &str) -> Result<usize, ArchiveError> {
        let groups = &self.plan.groups;
        let named = groups.iter().position(|other| other.name == group);
        let found = named.or_else(|| groups.iter().position(|other| other.pattern == group));
        let absent = || EditError::Absent { kind: "group", name: group.to_owned() };
        found.ok_or_else(|| absent().into())
    }

    /// Whether a URL was captured.
    pub(super) fn is_captured(&self, url: &str) -> Result<bool, ArchiveError> {
        Ok(known_as(self.history, url)?.is_some())
    }

    /// Hands on the members of the group at this position of the plan.
    pub(super) fn members(&self, at: usize, each: OnMember<'_>) -> Result<(), ArchiveError> {
        match &self.project {
            Some((project, rows)) => {
                for member in project.members_with_state(&rows.groups[at]) {
                    let (resource, is_captured) = member?;
                    each(GroupMember { url: resource.url, is_captured });
                }
                Ok(())
            }
            None => self.archived_members(&self.plan.groups[at], each),
        }
    }

    fn archived_members(&self, group: &Group, each: OnMember<'_>) -> Result<(), ArchiveError> {
        let pattern = GroupPattern::new(&group.pattern, AtSign::Literal);
        self.captured_under(pattern.literal_prefix(), &mut |url| {
            if pattern.matches(url) {
                each(GroupMember { url: url.to_owned(), is_captured: true });
            }
            Ok(())
        })?;
        let aliases = self.plan.aliases();
        let mut missing = BTreeSet::new();
        self.each_source(group, &mut |page| self.missing_links(page, &pattern, &aliases, &mut missing))?;
        for url in missing {
            each(GroupMember { url, is_captured: false });
        }
        Ok(())
    }

    /// Visits the URLs of captures that begin with a text, in their order.
    fn captured_under(
        &self,
        prefix: &str,
        each: &mut dyn FnMut(&str) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut after: Option<String> = None;
        loop {
            let cursor = ListCursor { after: after.as_deref(), limit: URL_BATCH_ROWS };
            let urls = self.history.catalog().urls(prefix, cursor)?;
            urls.iter().try_for_each(|url| each(url))?;
            match urls.into_iter().last() {
                Some(last) => after = Some(last),
                None => return Ok(()),
            }
        }
    }

    /// Visits the URLs of the captured pages on which a group is found.
    fn each_source(
        &self,
        group: &Group,
        each: &mut dyn FnMut(&str) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let Some(name) = &group.found_on else { return self.captured_under("", each) };
        if let Some(root) = self.plan.roots.iter().find(|root| root.name == *name) {
            return each(&root.url);
        }
        let Some(source) = self.plan.groups.iter().find(|other| other.name == *name) else { return Ok(()) };
        let pattern = GroupPattern::new(&source.pattern, AtSign::Literal);
        self.captured_under(pattern.literal_prefix(), &mut |url| match pattern.matches(url) {
            true => each(url),
            false => Ok(()),
        })
    }

    /// Adds the links of a page that match a pattern and were never captured.
    fn missing_links(
        &self,
        page: &str,
        pattern: &GroupPattern,
        aliases: &Aliases,
        missing: &mut BTreeSet<String>,
    ) -> Result<(), ArchiveError> {
        let capture = match find(self.history, page, &CaptureSelector::NewestGood) {
            Err(ArchiveError::NoCapture { .. }) => return Ok(()),
            found => found?,
        };
        let headers = captured_headers(self.history, &capture)?;
        let format = LinkFormat::of(headers.get_text("content-type").as_deref(), &capture.url);
        if matches!(format, LinkFormat::Opaque | LinkFormat::Css) {
            return Ok(());
        }
        let body = match self.history.open_body(&capture) {
            Err(RepositoryError::DownloadFailed { .. }) => return Ok(()),
            body => body?,
        };
        let mut found = BTreeSet::new();
        let mut take = |link: PageLink<'_>| {
            if link.role == LinkRole::Navigate && !link.guessed {
                found.extend(member_of(&link.target, pattern, aliases));
            }
        };
        // Links found before a truncated body ends are used.
        let _ = extract(format, &capture.url, &headers, body, LinkLimits::default(), &mut take);
        for url in found {
            if !missing.contains(&url) && !self.is_captured(&url)? {
                missing.insert(url);
            }
        }
        Ok(())
    }
}

/// The URL that a link would be captured as, if that is a member of the group.
fn member_of(link: &str, pattern: &GroupPattern, aliases: &Aliases) -> Option<String> {
    let url = request_url(link)?;
    let url = match aliases.apply(&url) {
        Some(AliasTarget::Internal(other)) => request_url(&other)?,
        Some(AliasTarget::External(_)) => return None,
        None => url,
    };
    let identity = page_identity(&url);
    let is_member = pattern.matches(&url) || identity.is_some_and(|url| pattern.matches(&url));
    is_member.then_some(url)
}
