//! Pages of removed versions that a remaining child still shows: the child adopts them.
//!
//! A version lists what it changed, so its state has pages that its ancestors captured. Without
//! adoption, removing a version would change the states of all its descendants.

use std::collections::{BTreeSet, HashSet};

use varve_catalog::CatalogRead;
use varve_core::fact::{ManifestPage, StateChanges, UnreachablePage};
use varve_core::history::{Capture, CaptureOwner, ListCursor, PageState, Presence};
use varve_core::{RecordId, VersionId};
use varve_repository::RepositoryError;
use varve_repository::history::VersionPages;

/// Number of absences and paths read per query.
const PAGES_PER_QUERY: usize = 1_000;

/// What each remaining child of removed versions adopts.
pub(super) fn adopted_pages(
    catalog: &dyn CatalogRead,
    removed: &HashSet<VersionId>,
    is_selected: &dyn Fn(&str) -> bool,
) -> Result<Vec<(VersionId, StateChanges)>, RepositoryError> {
    let mut children = BTreeSet::new();
    for version in removed {
        children.extend(catalog.children(version)?.into_iter().filter(|child| !removed.contains(child)));
    }
    let mut adopted = Vec::new();
    for child in children {
        let parents = removed_parents(catalog, removed, child)?;
        let mut changes = StateChanges::default();
        for paths in paths_of(catalog, &parents)?.chunks(PAGES_PER_QUERY) {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let states = catalog.states_at(&child, &paths)?;
            for page in states.into_iter().filter(|page| !is_selected(&page.url)) {
                adopt(&mut changes, page, &parents);
            }
        }
        if !changes.is_empty() {
            adopted.push((child, changes));
        }
    }
    Ok(adopted)
}

/// The removed versions between a version and its nearest remaining ancestor.
fn removed_parents(
    catalog: &dyn CatalogRead,
    removed: &HashSet<VersionId>,
    child: VersionId,
) -> Result<HashSet<VersionId>, RepositoryError> {
    let mut parents = HashSet::new();
    let mut next = Some(child);
    while let Some(version) = next {
        let parent = catalog.version(&version)?.and_then(|info| info.version.parent);
        next = parent.filter(|parent| removed.contains(parent) && parents.insert(*parent));
    }
    Ok(parents)
}

/// The paths of all pages that versions say something about.
fn paths_of(
    catalog: &dyn CatalogRead,
    versions: &HashSet<VersionId>,
) -> Result<Vec<String>, RepositoryError> {
    let mut paths = BTreeSet::new();
    for version in versions {
        for page in VersionPages::new(catalog, Some(*version)) {
            paths.insert(page?.path);
        }
        let mut last: Option<(String, String)> = None;
        loop {
            let after = last.as_ref().map(|(path, url)| (path.as_str(), url.as_str()));
            let absences = catalog.absences_in(version, ListCursor { after, limit: PAGES_PER_QUERY })?;
            let Some(end) = absences.last() else { break };
            last = Some((end.path.clone(), end.url.clone()));
            paths.extend(absences.into_iter().map(|absence| absence.path));
        }
    }
    Ok(paths.into_iter().collect())
}

/// Adds what `parents` say about a page and its state still shows.
fn adopt(changes: &mut StateChanges, page: PageState, parents: &HashSet<VersionId>) {
    let is_theirs = |capture: &Capture| match capture.owner {
        CaptureOwner::Version(version) => parents.contains(&version),
        CaptureOwner::Run(_) => false,
    };
    let PageState { url, presence, capture, said_by, evidence, is_hidden, .. } = page;
    let is_gone = presence == Presence::Gone;
    let has_evidence = evidence.is_some() || presence == Presence::Present;
    // A page that an earlier purge removed must not appear again.
    let shown = capture.filter(|capture| !is_gone && !is_hidden && is_theirs(capture));
    changes.pages.extend(shown.map(page_of));
    changes.pages.extend(evidence.filter(is_theirs).map(page_of));
    if has_evidence || !parents.contains(&said_by) {
        return;
    }
    match presence {
        Presence::Gone => changes.gone.push(url),
        Presence::Unreachable { reason } => changes.unreachable.push(UnreachablePage { url, reason }),
        Presence::Present => {}
    }
}

/// A capture as a page of another version.
fn page_of(capture: Capture) -> ManifestPage {
    let committed = RecordId::of_body(capture.body);
    ManifestPage {
        url: capture.url,
        path: capture.path,
        time: capture.time,
        status: capture.status,
        headers: capture.headers,
        body: capture.body,
        length: capture.length.unwrap_or(0),
        record: capture.record.filter(|record| *record != committed),
        truncated: capture.truncated,
    }
}
