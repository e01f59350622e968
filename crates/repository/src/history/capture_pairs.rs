//! Pairs the pages of two versions: those of their states, or their captures alone.
//!
//! Pages are paired by path, regardless of its stored form. Where several pages share a path, those
//! with the same URL are paired first, then those of the same host. Every site has a `/robots.txt`,
//! and that of one site is not that of another: [`HostPairing`] says when pages of two hosts are a
//! pair.
//!
//! Both lists are sorted and read once, so comparing two versions of a million pages holds only the
//! pages of one path.

use std::iter::Peekable;
use std::rc::Rc;

use varve_catalog::CatalogRead;
use varve_core::VersionId;
use varve_core::headers::Redaction;
use varve_core::history::{Capture, PageState, Presence};
use varve_diff::compare::{CaptureSide, CompareOptions, compare_heads};

use super::STATUS_NOT_MODIFIED;
use super::host_pairing::{HostPair, HostPairing, is_one_host};
use super::pages_by_key::{PageMatchKey, PagesByKey};
use super::state_pages::StatePages;
use crate::error::RepositoryError;

/// How a page changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageChange {
    /// The page is only in the newer version.
    Added,
    /// The page was gone in the older version, and is in the newer.
    Back,
    /// The newer version found the page gone.
    Gone,
    /// The page is only in the older version, and the newer says nothing about it.
    Removed,
    /// Body, status or headers differ.
    Changed,
    /// The page is the same, and the newer version could not reach it.
    Unreachable,
    /// Nothing differs.
    Unchanged,
}

impl PageChange {
    /// The word for it, in text and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Back => "back",
            Self::Gone => "gone",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Unreachable => "unreachable",
            Self::Unchanged => "unchanged",
        }
    }
}

/// A page in two versions; at least one of them has it.
#[derive(Clone, Debug)]
pub struct CapturePair {
    /// The capture in the older version, unless the page is gone there.
    pub base: Option<Capture>,
    /// The capture in the newer version, unless the page is gone there.
    pub head: Option<Capture>,
    /// What is known of the page in the older and the newer version: whether it is present, gone or
    /// unreachable. The captures in `base` and `head` were taken out.
    pub states: [Option<PageState>; 2],
    /// Whether the user named the hosts of the two URLs as a pair. Then the other host is no change.
    pub has_named_hosts: bool,
}

impl CapturePair {
    /// A pair of captures of which nothing else is known.
    pub fn of(base: Option<Capture>, head: Option<Capture>) -> Self {
        Self { base, head, states: [None, None], has_named_hosts: false }
    }

    /// A pair of states. `None` if neither version has the page.
    fn of_states(mut states: [Option<PageState>; 2]) -> Option<Self> {
        let [base, head] = states.each_mut().map(|state| {
            let state = state.as_mut()?;
            if state.presence == Presence::Gone { None } else { state.capture.take() }
        });
        (base.is_some() || head.is_some()).then_some(Self { base, head, states, has_named_hosts: false })
    }

    /// The capture in the newer version, or else the one in the older.
    pub fn any(&self) -> &Capture {
        self.head.as_ref().or(self.base.as_ref()).expect("a pair has at least one page")
    }

    /// How the page changed, before noise is filtered out.
    pub fn change(&self) -> PageChange {
        let is_gone =
            |state: &Option<PageState>| state.as_ref().is_some_and(|state| state.presence == Presence::Gone);
        // A page that was first asked for when it was not there was never there before.
        let was_there =
            |state: &Option<PageState>| state.as_ref().is_some_and(|state| state.capture.is_some());
        match (&self.base, &self.head) {
            (None, _) if is_gone(&self.states[0]) && was_there(&self.states[0]) => PageChange::Back,
            (None, _) => PageChange::Added,
            (_, None) if is_gone(&self.states[1]) => PageChange::Gone,
            (_, None) => PageChange::Removed,
            (Some(base), Some(head)) if same(base, head) && !self.has_new_host() => {
                self.unchanged_or_unreachable()
            }
            _ => PageChange::Changed,
        }
    }

    fn unchanged_or_unreachable(&self) -> PageChange {
        match self.unreachable() {
            [None, Some(_)] => PageChange::Unreachable,
            _ => PageChange::Unchanged,
        }
    }

    /// Why the page could not be reached in the older and the newer version, if it could not.
    pub fn unreachable(&self) -> [Option<&str>; 2] {
        self.states.each_ref().map(|state| match &state.as_ref()?.presence {
            Presence::Unreachable { reason } => Some(reason.as_str()),
            _ => None,
        })
    }

    /// Like [`change`](Self::change), but ignores headers that differ in every response, such as
    /// the server's clock.
    pub fn lasting_change(&self) -> PageChange {
        match (self.change(), &self.base, &self.head) {
            (PageChange::Changed, Some(base), Some(head))
                if !self.has_new_host() && same_but_clocks(base, head) =>
            {
                self.unchanged_or_unreachable()
            }
            (change, ..) => change,
        }
    }

    /// The old and the new URL, if the host differs.
    pub fn moved(&self) -> Option<[&str; 2]> {
        let urls = [self.base.as_ref()?, self.head.as_ref()?].map(|page| page.url.as_str());
        (!is_one_host(urls)).then_some(urls)
    }

    /// Whether the host differs and the user did not name both hosts as a pair.
    pub fn has_new_host(&self) -> bool {
        !self.has_named_hosts && self.moved().is_some()
    }

    /// Whether both versions know the page from the same events: no version between them says
    /// anything about it.
    pub fn is_from_same_event(&self) -> bool {
        let ([Some(base), Some(head)], Some(older), Some(newer)) =
            (&self.states, self.base.as_ref(), self.head.as_ref())
        else {
            return false;
        };
        older.id == newer.id && base.said_by == head.said_by
    }
}

/// Whether two captures differ only in headers that are noise.
fn same_but_clocks(base: &Capture, head: &Capture) -> bool {
    // Values are compared but not shown, so they need no redaction.
    let options = CompareOptions { redaction: Redaction::Off, ..CompareOptions::default() };
    base.body == head.body
        && base.status == head.status
        && !compare_heads(&head_of(base), &head_of(head), true, &options).is_changed()
}

/// Whether two captures are equal. Status and headers are not compared if either is a 304 response,
/// which omits most headers.
fn same(base: &Capture, head: &Capture) -> bool {
    let is_answer = base.status != STATUS_NOT_MODIFIED && head.status != STATUS_NOT_MODIFIED;
    base.body == head.body && (!is_answer || (base.status == head.status && base.headers == head.headers))
}

fn head_of(capture: &Capture) -> CaptureSide<'_> {
    CaptureSide { id: "", headers: &capture.headers, body: &[], media_type: None }
}

/// The pages of two versions, in path order.
pub struct CapturePairs<'a> {
    catalog: &'a dyn CatalogRead,
    base: Peekable<PagesByKey<'a>>,
    head: Peekable<PagesByKey<'a>>,
    key: PageMatchKey,
    hosts: HostPairing,
    ready: std::vec::IntoIter<CapturePair>,
    /// The number of pages that the newer state shows, if not all of them are read.
    held: Option<u64>,
    /// How many of them were read.
    shown: u64,
}

impl<'a> CapturePairs<'a> {
    /// Pairs the states of two versions. Without a base all pages are new.
    pub fn new(catalog: &'a dyn CatalogRead, base: Option<VersionId>, head: Option<VersionId>) -> Self {
        Self::between(StatePages::new(catalog, base), StatePages::new(catalog, head))
    }

    /// Pairs the captures of two versions, without regard to other pages of their states.
    pub fn of_captures(
        catalog: &'a dyn CatalogRead,
        base: Option<VersionId>,
        head: Option<VersionId>,
    ) -> Self {
        Self::between(StatePages::of_captures(catalog, base), StatePages::of_captures(catalog, head))
    }

    /// The pairs that may differ. Pages that both states share may be left out, and are counted by
    /// [`left_out`](Self::left_out). The cost is proportional to the number of changed pages.
    pub fn that_differ(
        catalog: &'a dyn CatalogRead,
        base: Option<VersionId>,
        head: Option<VersionId>,
    ) -> Result<Self, RepositoryError> {
        let (Some(from), Some(to)) = (base, head) else { return Ok(Self::new(catalog, base, head)) };
        let (mut paths, mut may_match_others) = (Vec::new(), false);
        let is_listed = catalog.each_page_that_differs(&from, &to, &mut |path, url| {
            // A page whose key differs from its path may match a page that is left out. In a Crystal
            // project the path is the URL, and so is the key.
            may_match_others |= path != url && PageMatchKey::Page.of(url, path) != path;
            paths.push(path.to_owned());
        })?;
        if !is_listed || may_match_others {
            return Ok(Self::new(catalog, base, head));
        }
        paths.sort_unstable();
        paths.dedup();
        let held = catalog.state_counts(&to)?.shown();
        Ok(Self { held: Some(held), ..Self::at(catalog, base, head, paths) })
    }

    /// The number of pages of the newer state that were left out because both states share them.
    /// It is known after the last pair.
    pub fn left_out(&self) -> u64 {
        self.held.map_or(0, |held| held.saturating_sub(self.shown))
    }

    /// The pairs at the given paths, which must be sorted. The stored path of each page must be its
    /// key.
    pub fn at(
        catalog: &'a dyn CatalogRead,
        base: Option<VersionId>,
        head: Option<VersionId>,
        paths: Vec<String>,
    ) -> Self {
        let paths: Rc<[String]> = paths.into();
        let side = |version| StatePages::at(catalog, version, Rc::clone(&paths));
        Self::between(side(base), side(head))
    }

    /// Pairs pages from any source, each side sorted by path and URL.
    pub fn between(base: StatePages<'a>, head: StatePages<'a>) -> Self {
        Self::by(PageMatchKey::Page, base, head)
    }

    /// Pairs pages with the same place in a working tree.
    pub fn in_place(catalog: &'a dyn CatalogRead, base: Option<VersionId>, head: Option<VersionId>) -> Self {
        Self::by(PageMatchKey::Place, StatePages::new(catalog, base), StatePages::new(catalog, head))
    }

    fn by(key: PageMatchKey, base: StatePages<'a>, head: StatePages<'a>) -> Self {
        let catalog = head.catalog();
        let side = |pages| PagesByKey::new(key, pages).peekable();
        let (base, head, ready) = (side(base), side(head), Vec::new().into_iter());
        Self { catalog, base, head, key, hosts: HostPairing::default(), ready, held: None, shown: 0 }
    }

    /// The same pages, with another rule for pages of two hosts.
    pub fn with_hosts(self, hosts: HostPairing) -> Self {
        Self { hosts, ..self }
    }

    fn fetch(&mut self) -> Result<Option<CapturePair>, RepositoryError> {
        loop {
            if let Some(pair) = self.ready.next() {
                return self.identified(pair).map(Some);
            }
            let next = [key_of(&mut self.base)?, key_of(&mut self.head)?];
            let Some(key) = next.into_iter().flatten().min() else { return Ok(None) };
            let base = take(&mut self.base, &key)?;
            let head = take(&mut self.head, &key)?;
            self.shown += head.iter().filter(|page| page.shown().is_some()).count() as u64;
            self.ready = self.pair_up(base, head).into_iter();
        }
    }

    /// Pairs the pages of one key. Each page is in at most one pair, except those of hosts that the
    /// user named.
    fn pair_up(&self, base: Vec<PageState>, head: Vec<PageState>) -> Vec<CapturePair> {
        let are_alone = base.len() == 1 && head.len() == 1;
        let mut sides = Sides { base, head, pairs: Vec::new() };
        sides.pair(|base, head| base.url == head.url);
        sides.pair(|base, head| is_one_host([&base.url, &head.url]));
        match &self.hosts {
            _ if self.key == PageMatchKey::Place => sides.pair(|_, _| true),
            HostPairing::OnlyAtPath if are_alone => sides.pair(|_, _| true),
            HostPairing::OnlyAtPath | HostPairing::SameHost => {}
            HostPairing::Named(hosts) => hosts.iter().for_each(|hosts| sides.pair_hosts(hosts)),
        }
        let Sides { base, head, mut pairs } = sides;
        pairs.extend(head.into_iter().filter_map(|head| CapturePair::of_states([None, Some(head)])));
        pairs.extend(base.into_iter().filter_map(|base| CapturePair::of_states([Some(base), None])));
        pairs.sort_by(|one, other| one.any().url.cmp(&other.any().url));
        pairs
    }

    /// The pair, with the ids of both bodies if they are to be compared.
    fn identified(&self, mut pair: CapturePair) -> Result<CapturePair, RepositoryError> {
        if let (Some(base), Some(head)) = (&mut pair.base, &mut pair.head) {
            self.catalog.identify_bodies(base, head)?;
        }
        Ok(pair)
    }
}

fn key_of(pages: &mut Peekable<PagesByKey<'_>>) -> Result<Option<String>, RepositoryError> {
    match pages.peek() {
        Some(Ok((key, _))) => Ok(Some(key.clone())),
        None => Ok(None),
        Some(Err(_)) => match pages.next() {
            Some(Err(error)) => Err(error),
            _ => Ok(None),
        },
    }
}

/// Takes all pages with `key`. If there are any, they are next in the list.
fn take(pages: &mut Peekable<PagesByKey<'_>>, key: &str) -> Result<Vec<PageState>, RepositoryError> {
    let mut taken = Vec::new();
    while let Some(page) = pages.next_if(|page| page.as_ref().map_or(true, |(found, _)| found == key)) {
        taken.push(page?.1);
    }
    Ok(taken)
}

/// Pages without a partner so far, and the pairs found.
struct Sides {
    base: Vec<PageState>,
    head: Vec<PageState>,
    pairs: Vec<CapturePair>,
}

impl Sides {
    /// Pairs the pages for which `belong` is true, in order.
    fn pair(&mut self, belong: impl Fn(&PageState, &PageState) -> bool) {
        for head in std::mem::take(&mut self.head) {
            match self.base.iter().position(|base| belong(base, &head)) {
                Some(at) => {
                    let states = [Some(self.base.remove(at)), Some(head)];
                    self.pairs.extend(CapturePair::of_states(states));
                }
                None => self.head.push(head),
            }
        }
    }

    /// Pairs pages of the newer host without a partner with those of the older host. A page of the
    /// older host that the newer version still has is in a pair of its own as well.
    fn pair_hosts(&mut self, hosts: &HostPair) {
        for head in std::mem::take(&mut self.head) {
            if !hosts.is_newer(&head.url) {
                self.head.push(head);
                continue;
            }
            let Some(base) = self.take_page_of_older_host(hosts) else {
                self.head.push(head);
                continue;
            };
            let pair = CapturePair::of_states([Some(base), Some(head)]);
            self.pairs.extend(pair.map(|pair| CapturePair { has_named_hosts: true, ..pair }));
        }
    }

    fn take_page_of_older_host(&mut self, hosts: &HostPair) -> Option<PageState> {
        if let Some(at) = self.base.iter().position(|base| hosts.is_older(&base.url)) {
            return Some(self.base.remove(at));
        }
        let is_older = |pair: &CapturePair| {
            !pair.has_named_hosts && pair.base.as_ref().is_some_and(|base| hosts.is_older(&base.url))
        };
        let at = self.pairs.iter().position(is_older)?;
        // A page that is gone from the older host has moved.
        let pair = if self.pairs[at].head.is_none() { self.pairs.remove(at) } else { self.pairs[at].clone() };
        let [state, _] = pair.states;
        Some(PageState { capture: pair.base, ..state? })
    }
}

impl Iterator for CapturePairs<'_> {
    type Item = Result<CapturePair, RepositoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.fetch().transpose()
    }
}
