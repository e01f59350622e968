//! Two versions side by side: which page of the one is which page of the other.
//!
//! Pages are paired by path, however it was written. Where several share one, those with the same URL belong together, and the rest go in order.
//! Both lists come sorted and are read once, so comparing two versions of a million pages holds only those of one path.

use std::iter::Peekable;

use varve_catalog::CatalogRead;
use varve_core::VersionId;
use varve_core::history::Capture;

use super::pages::Pages;
use super::pages_by_key::{Key, PagesByKey};
use crate::error::ArchiveError;

/// What became of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is only in the newer version.
    Added,
    /// It is only in the older version.
    Removed,
    /// Body, status or headers differ.
    Changed,
    /// Nothing differs.
    Unchanged,
}

/// A page in two versions; at least one of them has it.
#[derive(Clone, Debug)]
pub struct Pair {
    /// As it was.
    pub base: Option<Capture>,
    /// As it is.
    pub head: Option<Capture>,
}

impl Pair {
    /// The newer of the two, or the one there is.
    pub fn any(&self) -> &Capture {
        self.head.as_ref().or(self.base.as_ref()).expect("a pair has at least one page")
    }

    /// What became of it, before noise is considered.
    pub fn change(&self) -> Change {
        match (&self.base, &self.head) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            (Some(base), Some(head)) if same(base, head) => Change::Unchanged,
            _ => Change::Changed,
        }
    }
}

/// Whether two captures say the same. A server that said that nothing changed sent few headers, which says nothing.
fn same(base: &Capture, head: &Capture) -> bool {
    const NOT_MODIFIED: u16 = 304;
    let is_answer = base.status != NOT_MODIFIED && head.status != NOT_MODIFIED;
    base.body == head.body && (!is_answer || (base.status == head.status && base.headers == head.headers))
}

/// The pages of two versions, in the order of their paths.
pub struct Pairs<'a> {
    base: Peekable<PagesByKey<'a>>,
    head: Peekable<PagesByKey<'a>>,
    ready: std::vec::IntoIter<Pair>,
}

impl<'a> Pairs<'a> {
    /// Pairs the pages of two versions. No base means that all pages are new.
    pub fn new(catalog: &'a dyn CatalogRead, base: Option<VersionId>, head: Option<VersionId>) -> Self {
        Self::between(Pages::new(catalog, base), Pages::new(catalog, head))
    }

    /// Pairs pages wherever they come from, each side sorted by path and URL.
    pub(crate) fn between(base: Pages<'a>, head: Pages<'a>) -> Self {
        Self::by(Key::Page, base, head)
    }

    /// Pairs what lies in the same place of a working tree.
    pub(crate) fn in_place(
        catalog: &'a dyn CatalogRead,
        base: Option<VersionId>,
        head: Option<VersionId>,
    ) -> Self {
        Self::by(Key::Place, Pages::new(catalog, base), Pages::new(catalog, head))
    }

    fn by(key: Key, base: Pages<'a>, head: Pages<'a>) -> Self {
        let side = |pages| PagesByKey::new(key, pages).peekable();
        Self { base: side(base), head: side(head), ready: Vec::new().into_iter() }
    }

    fn fetch(&mut self) -> Result<Option<Pair>, ArchiveError> {
        if let Some(pair) = self.ready.next() {
            return Ok(Some(pair));
        }
        let next = [key_of(&mut self.base)?, key_of(&mut self.head)?];
        let Some(key) = next.into_iter().flatten().min() else { return Ok(None) };
        let base = take(&mut self.base, &key)?;
        let head = take(&mut self.head, &key)?;
        self.ready = pair_up(base, head).into_iter();
        Ok(self.ready.next())
    }
}

fn key_of(pages: &mut Peekable<PagesByKey<'_>>) -> Result<Option<String>, ArchiveError> {
    match pages.peek() {
        Some(Ok((key, _))) => Ok(Some(key.clone())),
        None => Ok(None),
        Some(Err(_)) => match pages.next() {
            Some(Err(error)) => Err(error),
            _ => Ok(None),
        },
    }
}

/// All pages with `key`, which is where the list stands if it has any.
fn take(pages: &mut Peekable<PagesByKey<'_>>, key: &str) -> Result<Vec<Capture>, ArchiveError> {
    let mut taken = Vec::new();
    while let Some(page) = pages.next_if(|page| page.as_ref().map_or(true, |(found, _)| found == key)) {
        taken.push(page?.1);
    }
    Ok(taken)
}

fn pair_up(base: Vec<Capture>, head: Vec<Capture>) -> Vec<Pair> {
    let mut base: Vec<Option<Capture>> = base.into_iter().map(Some).collect();
    let mut pairs = Vec::new();
    let mut alone = Vec::new();
    for head in head {
        let same_url = |page: &Option<Capture>| page.as_ref().is_some_and(|page| page.url == head.url);
        match base.iter().position(same_url) {
            Some(at) => pairs.push(Pair { base: base[at].take(), head: Some(head) }),
            None => alone.push(head),
        }
    }
    let mut left = base.into_iter().flatten();
    for head in alone {
        pairs.push(Pair { base: left.next(), head: Some(head) });
    }
    pairs.extend(left.map(|base| Pair { base: Some(base), head: None }));
    pairs.sort_by(|one, other| one.any().url.cmp(&other.any().url));
    pairs
}

impl Iterator for Pairs<'_> {
    type Item = Result<Pair, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.fetch().transpose()
    }
}
