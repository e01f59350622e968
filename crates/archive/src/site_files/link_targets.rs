//! Where links between the files of a version lead.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use varve_core::url::{Base, page_identity};
use varve_repository::RepositoryError;

use super::{FilePlan, PagePlace};

/// Maximum number of redirects from a link to a file.
const MAX_REDIRECTS: usize = 10;

/// The characters of a file name that need no escape in a link.
const UNESCAPED_BYTES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'@')
    .remove(b'=')
    .remove(b',');

/// The files of all pages, by URL.
#[derive(Debug, Default)]
pub(crate) struct LinkTargets {
    /// By the identity of the page.
    files: HashMap<String, PageTarget>,
}

#[derive(Debug)]
enum PageTarget {
    File(PathBuf),
    /// The identity of another page.
    Redirect(String),
}

impl LinkTargets {
    /// Finds the files of a plan. Of several pages with one identity, one with a file is taken.
    pub(crate) fn of(plan: &FilePlan<'_>) -> Result<Self, RepositoryError> {
        let mut files = HashMap::new();
        for page in plan.pages() {
            let (capture, place) = page?;
            let Some(identity) = page_identity(&capture.url) else { continue };
            match place {
                PagePlace::File(path) | PagePlace::Shared(path) => {
                    files.insert(identity, PageTarget::File(path));
                }
                PagePlace::Redirect(location) => {
                    let target = Base::parse(&capture.url).ok().and_then(|base| base.resolve(&location).ok());
                    if let Some(target) = target.as_deref().and_then(page_identity) {
                        files.entry(identity).or_insert(PageTarget::Redirect(target));
                    }
                }
            }
        }
        Ok(Self { files })
    }

    /// The file of a page. A page that was captured with the other scheme counts.
    fn file(&self, url: &str) -> Option<&Path> {
        let mut identity = page_identity(url)?;
        for _ in 0..=MAX_REDIRECTS {
            let found = self.files.get(&identity).or_else(|| self.files.get(&other_scheme(&identity)?));
            match found? {
                PageTarget::File(path) => return Some(path),
                PageTarget::Redirect(target) => identity.clone_from(target),
            }
        }
        None
    }

    /// The link from the file `from` to a URL: a relative path, or the URL itself if the version does
    /// not have the page.
    pub(crate) fn link(&self, from: &Path, url: &str) -> String {
        let (page, fragment) = match url.find('#') {
            Some(at) => url.split_at(at),
            None => (url, ""),
        };
        match self.file(page) {
            Some(to) => format!("{}{fragment}", relative_link(from, to)),
            None => url.to_owned(),
        }
    }
}

fn other_scheme(url: &str) -> Option<String> {
    match url.split_once("://")? {
        ("http", rest) => Some(format!("https://{rest}")),
        ("https", rest) => Some(format!("http://{rest}")),
        _ => None,
    }
}

/// The link from one file to another.
fn relative_link(from: &Path, to: &Path) -> String {
    let from: Vec<_> = from.parent().into_iter().flat_map(Path::iter).collect();
    let to: Vec<_> = to.iter().collect();
    let shared = from.iter().zip(&to[..to.len().saturating_sub(1)]).take_while(|(one, other)| one == other);
    let shared = shared.count();
    let ups = std::iter::repeat_n("..".to_owned(), from.len() - shared);
    let escaped = |name: &&std::ffi::OsStr| {
        percent_encoding::percent_encode(name.as_bytes(), UNESCAPED_BYTES).to_string()
    };
    ups.chain(to[shared..].iter().map(escaped)).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative_to_the_folder_of_the_page() {
        for (from, to, link) in [
            ("index.html", "a b.html", "a%20b.html"),
            ("a/index.html", "index.html", "../index.html"),
            ("a/b/c.html", "a/d/e%.html", "../d/e%25.html"),
            ("a/b.html", "a/b.html", "b.html"),
            ("h/a.html", "g/a@q=1&x.html", "../g/a@q=1%26x.html"),
            ("a.html", "x:y.html", "x%3Ay.html"),
        ] {
            assert_eq!(relative_link(Path::new(from), Path::new(to)), link, "{from} {to}");
        }
    }

    #[test]
    fn redirects_lead_to_the_file_and_unknown_pages_to_the_web() {
        let mut targets = LinkTargets::default();
        let file = PageTarget::File("new/index.html".into());
        targets.files.insert("https://h/new/".to_owned(), file);
        targets.files.insert("https://h/old".to_owned(), PageTarget::Redirect("https://h/new/".to_owned()));
        targets.files.insert("https://h/loop".to_owned(), PageTarget::Redirect("https://h/loop".to_owned()));
        for (url, link) in [
            ("http://h/old#x", "../new/index.html#x"),
            ("https://h/loop", "https://h/loop"),
            ("https://g/new/#x", "https://g/new/#x"),
        ] {
            assert_eq!(targets.link(Path::new("a/b.html"), url), link, "{url}");
        }
    }
}
