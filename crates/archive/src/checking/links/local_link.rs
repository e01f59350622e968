//! A link from a file to another: the file must exist, with the elements that links name. A folder
//! stands for the page in it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use varve_core::history::Capture;
use varve_expect::Departure;
use varve_page::markdown::link_html;

use super::link_collection::LinkUses;
use super::{LinkCollection, LinkTextFormat};
use crate::checking::{CheckTarget, Judgement};
use crate::expectations::report::LinkReferrers;
use crate::expectations::{ProbeRequest, ProbeResponse, Verdict};

/// Bytes read of a file whose elements are looked for.
const MAX_PAGE_BYTES: u64 = 8 << 20;
/// The names of the page that a folder stands for.
const INDEX_NAMES: [&str; 4] = ["index.html", "index.htm", "index.md", "README.md"];

/// The file that links lead to.
pub(super) struct LocalLink<'a> {
    pub(super) path: &'a Path,
    pub(super) uses: &'a LinkUses,
    pub(super) links: &'a LinkCollection,
}

impl CheckTarget for LocalLink<'_> {
    /// A file is judged without a request.
    fn probe_request(&self) -> Result<ProbeRequest, Verdict> {
        Err(self.verdict())
    }

    fn judge(&self, _: &ProbeResponse) -> Judgement {
        Judgement { verdict: self.verdict(), comparison: None }
    }

    fn accepts(&self, _: &Capture) -> bool {
        false
    }

    fn expectation_json(&self) -> Value {
        json!({ "referrers": self.links.referrers(self.uses, None).pages })
    }

    fn referrers(&self, verdict: &Verdict) -> LinkReferrers {
        self.links.referrers_for(self.uses, verdict)
    }
}

impl LocalLink<'_> {
    fn verdict(&self) -> Verdict {
        match self.path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Verdict::Broken(vec![Departure::NoFile]),
            Err(error) => return Verdict::Unreachable(format!("the file cannot be examined: {error}")),
        }
        if self.uses.fragments().next().is_none() {
            return Verdict::Ok;
        }
        match self.page().and_then(|page| html_of(&page)) {
            Some(html) => {
                let missing = super::missing_fragments(&html, self.uses.fragments());
                let departure = (!missing.is_empty()).then_some(Departure::Fragments { missing });
                Verdict::of(departure.into_iter().collect())
            }
            // Only HTML and Markdown have elements to look for.
            None => Verdict::Ok,
        }
    }

    fn page(&self) -> Option<PathBuf> {
        // Opening a pipe would wait for its writer.
        if !self.path.is_dir() {
            return self.path.is_file().then(|| self.path.to_owned());
        }
        INDEX_NAMES.iter().map(|name| self.path.join(name)).find(|path| path.is_file())
    }
}

/// A file as HTML, if it is HTML or Markdown and not too long.
fn html_of(path: &Path) -> Option<Vec<u8>> {
    let format = LinkTextFormat::of_path(path)?;
    let mut text = Vec::new();
    fs::File::open(path).ok()?.take(MAX_PAGE_BYTES + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > MAX_PAGE_BYTES {
        return None;
    }
    Some(match format {
        LinkTextFormat::Html => text,
        LinkTextFormat::Markdown => link_html(&String::from_utf8_lossy(&text)).into_bytes(),
    })
}
