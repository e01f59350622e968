//! Which page of a version gets which file.
//!
//! A name may be wanted by several pages, and one page may want a file where others need a folder.
//! The page whose own path it is gets the name, and the others get a name with a digest of their
//! URL, so that names depend on as few other pages as possible. Pages with one name and one body
//! share a file.
//!
//! The plan holds a digest of each name and not the names: these are computed again whenever the
//! pages are listed.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use varve_core::VersionId;
use varve_core::history::Capture;
use varve_repository::RepositoryError;
use varve_repository::history::{HistoryReader, STATUS_NOT_MODIFIED, StatePages, with_full_response};

use super::{FileName, with_digest};

/// The options of writing pages as files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOptions {
    /// Links between the pages lead from file to file.
    #[serde(default)]
    pub relative_links: bool,
    /// The file name of the page of a folder.
    pub index: String,
    /// Only pages below this URL, which ends with a slash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { relative_links: false, index: "index.html".to_owned(), below: None }
    }
}

/// The file of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PagePlace {
    /// Its path below the root.
    File(PathBuf),
    /// The file of another page with the same body.
    Shared(PathBuf),
    /// It has none, because it leads to another page.
    Redirect(String),
}

/// The page that has a name.
struct NameOwner {
    is_own: bool,
    /// Its position in the list of pages.
    number: u32,
    /// The beginning of its body id.
    body: [u8; 16],
}

/// The files of a version.
pub(crate) struct FilePlan<'a> {
    history: &'a HistoryReader,
    version: VersionId,
    options: FileOptions,
    folds_case: bool,
    has_hosts: bool,
    owners: HashMap<NameKey, NameOwner>,
    folders: HashSet<NameKey>,
}

/// The beginning of the digest of a name.
type NameKey = [u8; 16];

impl<'a> FilePlan<'a> {
    /// Plans the files of a version. With `folds_case`, names that differ only in case are one.
    pub(crate) fn new(
        history: &'a HistoryReader,
        version: VersionId,
        options: FileOptions,
        folds_case: bool,
    ) -> Result<Self, RepositoryError> {
        let (owners, folders) = (HashMap::new(), HashSet::new());
        let mut plan = Self { history, version, options, folds_case, has_hosts: false, owners, folders };
        let mut hosts = HashSet::new();
        for (number, page) in plan.candidates().enumerate() {
            let (capture, Some(name)) = page? else { continue };
            plan.claim(number, &capture, &name);
            if !hosts.contains(&name.host) {
                hosts.insert(name.host);
            }
        }
        plan.has_hosts = hosts.len() > 1;
        Ok(plan)
    }

    fn claim(&mut self, number: usize, capture: &Capture, name: &FileName) {
        let whole = Path::new(&name.host).join(&name.path);
        for folder in whole.ancestors().skip(1) {
            if !self.folders.insert(self.key(folder)) {
                break;
            }
        }
        let mut body = [0; 16];
        body.copy_from_slice(&capture.body.as_bytes()[..16]);
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let owner = NameOwner { is_own: name.is_own, number, body };
        let key = self.key(&whole);
        match self.owners.get(&key) {
            Some(found) if found.is_own || !owner.is_own => {}
            _ => _ = self.owners.insert(key, owner),
        }
    }

    /// All pages of the version with their files, in the order of their paths.
    pub(crate) fn pages(
        &self,
    ) -> impl Iterator<Item = Result<(Capture, PagePlace), RepositoryError>> + use<'_, 'a> {
        self.candidates().enumerate().filter_map(|(number, page)| {
            let (capture, name) = match page {
                Ok(found) => found,
                Err(error) => return Some(Err(error)),
            };
            let place = match name {
                Some(name) => self.place(number, &capture, &name),
                None => PagePlace::Redirect(location_of(&capture)?),
            };
            Some(Ok((capture, place)))
        })
    }

    fn place(&self, number: usize, capture: &Capture, name: &FileName) -> PagePlace {
        let whole = Path::new(&name.host).join(&name.path);
        let below_root = |whole: PathBuf| match self.has_hosts {
            true => whole,
            false => whole.strip_prefix(&name.host).map_or_else(|_| whole.clone(), Path::to_owned),
        };
        let key = self.key(&whole);
        let owner = self.owners.get(&key).filter(|_| !self.folders.contains(&key));
        match owner {
            Some(owner) if owner.number as usize == number => return PagePlace::File(below_root(whole)),
            Some(owner) if self.knows_bodies() && owner.body == capture.body.as_bytes()[..16] => {
                return PagePlace::Shared(below_root(whole));
            }
            _ => {}
        }
        let is_free = |path: &PathBuf| {
            let key = self.key(path);
            !self.owners.contains_key(&key) && !self.folders.contains(&key)
        };
        let renamed = [12, 24].map(|digits| with_digest(&whole, &capture.url, digits));
        let last = with_digest(&whole, &capture.url, 64);
        PagePlace::File(below_root(renamed.into_iter().find(is_free).unwrap_or(last)))
    }

    /// Whether lists of captures have the ids of their bodies.
    fn knows_bodies(&self) -> bool {
        !matches!(self.history, HistoryReader::Crystal(_))
    }

    /// The pages below the root, each with the name that it wants. Redirects want none.
    fn candidates(
        &self,
    ) -> impl Iterator<Item = Result<(Capture, Option<FileName>), RepositoryError>> + use<'a> {
        let (history, options) = (self.history, self.options.clone());
        StatePages::new(history.catalog(), Some(self.version)).filter_map(move |page| {
            let capture = match page {
                Ok(page) => page.into_shown()?,
                Err(error) => return Some(Err(error)),
            };
            let capture = match capture.status {
                STATUS_NOT_MODIFIED => match with_full_response(history, capture) {
                    Ok(capture) => capture,
                    Err(error) => return Some(Err(error)),
                },
                _ => capture,
            };
            let (index, below) = (&options.index, options.below.as_deref());
            let name = FileName::of(&capture.url, &media_type(&capture), index, below)?;
            let is_redirect = location_of(&capture).is_some();
            Some(Ok((capture, (!is_redirect).then_some(name))))
        })
    }

    fn key(&self, path: &Path) -> NameKey {
        let digest = match self.folds_case {
            true => Sha256::digest(path.to_string_lossy().to_lowercase()),
            false => Sha256::digest(path.as_os_str().as_bytes()),
        };
        let mut key = NameKey::default();
        key.copy_from_slice(&digest[..16]);
        key
    }

    /// The options.
    pub(crate) fn options(&self) -> &FileOptions {
        &self.options
    }
}

/// The media type of a page without parameters, in lower case; empty if it has none.
pub(super) fn media_type(capture: &Capture) -> String {
    let header = capture.headers.get("content-type").and_then(<[String]>::first);
    let essence = header.map_or("", |header| header.split(';').next().unwrap_or_default());
    essence.trim().to_ascii_lowercase()
}

/// Where a redirect leads.
fn location_of(capture: &Capture) -> Option<String> {
    let is_redirect = matches!(capture.status, 301 | 302 | 303 | 307 | 308);
    let location = capture.headers.get("location").filter(|_| is_redirect)?;
    location.first().cloned()
}
