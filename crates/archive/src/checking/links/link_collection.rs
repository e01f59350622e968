//! The targets of links, each once, with the pages that link to it.
//!
//! A site links to its front page from every page. So a target counts all its referrers and keeps
//! the first few.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use varve_expect::Departure;

use crate::expectations::Verdict;
use crate::expectations::report::LinkReferrers;

/// Referrers of a target that are kept.
const MAX_REFERRERS: usize = 10;

/// The links of some pages.
#[derive(Debug, Default)]
pub struct LinkCollection {
    /// The pages that were read, in their order.
    pages: Vec<Box<str>>,
    /// By URL without fragment.
    targets: BTreeMap<String, LinkUses>,
    /// By absolute path.
    files: BTreeMap<PathBuf, LinkUses>,
    without_base: u64,
    unreadable: u64,
    /// Paths of files below this folder are shown relative to it.
    shown_from: Option<PathBuf>,
}

/// The uses of a target.
#[derive(Debug, Default)]
pub(super) struct LinkUses {
    all: ReferrerList,
    /// The pages that ask for an element of the target, by the name of the element.
    fragments: BTreeMap<String, ReferrerList>,
}

/// Pages, by their numbers.
#[derive(Debug, Default)]
struct ReferrerList {
    first: Vec<usize>,
    count: u64,
    last: Option<usize>,
}

impl ReferrerList {
    fn add(&mut self, page: usize) {
        if self.last.replace(page) == Some(page) {
            return;
        }
        self.count += 1;
        if self.first.len() < MAX_REFERRERS {
            self.first.push(page);
        }
    }
}

impl LinkUses {
    fn add(&mut self, page: usize, fragment: Option<&str>) {
        self.all.add(page);
        if let Some(name) = fragment {
            match self.fragments.get_mut(name) {
                Some(list) => list.add(page),
                None => self.fragments.entry(name.to_owned()).or_default().add(page),
            }
        }
    }

    /// The names of elements that pages ask for.
    pub(super) fn fragments(&self) -> impl Iterator<Item = &str> {
        self.fragments.keys().map(String::as_str)
    }
}

impl LinkCollection {
    /// A collection that shows files below `folder` by their paths from there.
    pub fn shown_from(folder: PathBuf) -> Self {
        Self { shown_from: Some(folder), ..Self::default() }
    }

    /// The name under which a file is shown.
    pub(super) fn shown_path(&self, path: &Path) -> String {
        let below = self.shown_from.as_ref().and_then(|folder| path.strip_prefix(folder).ok());
        below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// The number of pages that were read.
    pub fn pages_read(&self) -> u64 {
        self.pages.len() as u64
    }

    /// The number of these pages that could not be read, or not to their end.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// The number of links from the root of a site in files, whose site is not known.
    pub fn without_base(&self) -> u64 {
        self.without_base
    }

    /// Whether there are no links.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.files.is_empty()
    }

    /// Starts the next page. Links that follow are on it.
    pub(super) fn begin_page(&mut self, name: &str) {
        self.pages.push(name.into());
    }

    /// Adds a link of the current page to a URL.
    pub(super) fn add_url(&mut self, target: &str) {
        let (url, fragment) = target.split_once('#').map_or((target, None), |(url, part)| (url, Some(part)));
        let page = self.pages.len().saturating_sub(1);
        let fragment = fragment.and_then(super::named_element);
        match self.targets.get_mut(url) {
            Some(uses) => uses.add(page, fragment),
            None => self.targets.entry(url.to_owned()).or_default().add(page, fragment),
        }
    }

    /// Adds a link of the current page to a file.
    pub(super) fn add_file(&mut self, path: PathBuf, fragment: Option<&str>) {
        let page = self.pages.len().saturating_sub(1);
        self.files.entry(path).or_default().add(page, fragment.and_then(super::named_element));
    }

    /// Counts the current page as one that could not be read to its end.
    pub(super) fn add_unreadable(&mut self) {
        self.unreadable += 1;
    }

    /// Counts a link that cannot be resolved without the URL of the site.
    pub(super) fn add_without_base(&mut self) {
        self.without_base += 1;
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = (&str, &LinkUses)> {
        self.targets.iter().map(|(url, uses)| (url.as_str(), uses))
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, &LinkUses)> {
        self.files.iter().map(|(path, uses)| (path.as_path(), uses))
    }

    /// The pages that a verdict on a target concerns: if elements are missing, those that ask for
    /// one of these.
    pub(super) fn referrers_for(&self, uses: &LinkUses, verdict: &Verdict) -> LinkReferrers {
        let missing = match verdict {
            Verdict::Broken(departures) => departures.iter().find_map(|departure| match departure {
                Departure::Fragments { missing } => Some(missing.as_slice()),
                _ => None,
            }),
            _ => None,
        };
        self.referrers(uses, missing)
    }

    /// The pages that link to a target, or with `fragments` those that ask for one of these.
    pub(super) fn referrers(&self, uses: &LinkUses, fragments: Option<&[String]>) -> LinkReferrers {
        let mut pages: Vec<usize> = Vec::new();
        let mut count = 0;
        let lists: Vec<&ReferrerList> = match fragments {
            None => vec![&uses.all],
            Some(names) => names.iter().filter_map(|name| uses.fragments.get(name)).collect(),
        };
        for list in lists {
            count = count.max(list.count);
            pages.extend(&list.first);
        }
        pages.sort_unstable();
        pages.dedup();
        pages.truncate(MAX_REFERRERS);
        let names = pages.iter().filter_map(|page| self.pages.get(*page)).map(|name| name.to_string());
        LinkReferrers { count: count.max(pages.len() as u64), pages: names.collect() }
    }
}
