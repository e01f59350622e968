//! Looks up the captures of a URL before it is requested: those of this run and of earlier ones.
//!
//! A capture of this run, or of the versions that were made when it was stopped, is not made again.
//! A capture of an earlier run makes a conditional request possible.

use varve_core::history::Capture;
use varve_core::url::RequestUrl;
use varve_crystal::RevisionId;
use varve_store::exchange::RevisitOriginal;

/// Which URL is looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PastQuery<'a> {
    /// The URL.
    pub(crate) url: &'a RequestUrl,
    /// By which spellings.
    pub(crate) spelling: SpellingMatch,
}

/// By which spellings a URL is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpellingMatch {
    /// By its text.
    Exact,
    /// By any spelling of the same page.
    Any,
}

/// The past captures of a URL.
#[derive(Debug)]
pub(crate) enum PastLookup {
    /// It was captured in this run.
    ThisRun(StoredCapture),
    /// It was captured before, and the settings of the run do not ask for it again.
    Fresh(StoredCapture),
    /// It was captured before.
    Earlier(Box<EarlierCapture>),
    /// It was never captured.
    Nothing,
}

/// A capture of this run.
#[derive(Debug)]
pub(crate) enum StoredCapture {
    /// In an archive.
    Capture(Box<Capture>),
    /// In a Crystal project.
    Revision(RevisionId),
}

impl StoredCapture {
    /// The capture, if it is in an archive.
    pub(crate) fn capture(&self) -> Option<&Capture> {
        match self {
            Self::Capture(capture) => Some(capture),
            Self::Revision(_) => None,
        }
    }
}

/// The last capture of a URL by an earlier run.
#[derive(Clone, Debug)]
pub(crate) struct EarlierCapture {
    /// The newest capture. Its URL may be another spelling.
    pub(crate) newest: Capture,
    /// The validators for the next request to that URL, if the body is stored.
    pub(crate) validators: Option<Validators>,
}

/// The validators of a conditional request.
#[derive(Clone, Debug)]
pub(crate) struct Validators {
    /// The headers of the request.
    pub(crate) headers: Vec<(String, String)>,
    /// The record that a 304 refers to.
    pub(crate) original: RevisitOriginal,
    /// The type of the body, which a 304 does not repeat.
    pub(crate) content_type: Option<String>,
}
