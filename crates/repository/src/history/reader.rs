//! [`HistoryReader`]: reading history, whichever layout keeps it.
//!
//! The layouts are a closed set, so this is an enum and each method says here what every layout
//! answers. How a layout finds its answer is known only to its own module. Code that is about one
//! layout takes the type of that layout instead.

use std::io::Read;
use std::path::Path;

use varve_catalog::CatalogRead;
use varve_core::headers::Redaction;
use varve_core::history::{Capture, CaptureChoice};
use varve_core::receipt::Renderings;
use varve_core::{BodyId, Moment, RunId, VersionId};

use super::{
    ArchiveHistoryReader, CrystalHistoryReader, HeadState, HostPairing, MokuHistoryReader, RecordPlace,
    WebArchiveHistoryReader, body_range, read_whole_body,
};
use crate::error::RepositoryError;

/// Read access to a layout.
#[derive(Clone)]
pub enum HistoryReader {
    /// A varve archive.
    Archive(ArchiveHistoryReader),
    /// A Moku site.
    Moku(MokuHistoryReader),
    /// A Crystal project.
    Crystal(CrystalHistoryReader),
    /// WARC, ARC and WACZ files of other programs.
    WebArchive(WebArchiveHistoryReader),
}

impl From<&ArchiveHistoryReader> for HistoryReader {
    fn from(archive: &ArchiveHistoryReader) -> Self {
        Self::Archive(archive.clone())
    }
}

impl From<&MokuHistoryReader> for HistoryReader {
    fn from(site: &MokuHistoryReader) -> Self {
        Self::Moku(site.clone())
    }
}

impl HistoryReader {
    /// The catalog rows.
    pub fn catalog(&self) -> &dyn CatalogRead {
        match self {
            Self::Archive(archive) => archive.catalog(),
            Self::Moku(site) => site.catalog(),
            Self::Crystal(project) => project.catalog(),
            Self::WebArchive(archive) => archive.catalog(),
        }
    }

    /// The version that becomes the parent of the next one.
    pub fn head(&self) -> Result<Option<VersionId>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.head(),
            Self::Moku(site) => site.head(),
            Self::Crystal(project) => project.head(),
            Self::WebArchive(archive) => archive.head(),
        }
    }

    /// The version that HEAD points to after the next writer has opened the layout and possibly
    /// repaired HEAD.
    pub fn repaired_head_target(&self) -> Result<Option<VersionId>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.head(),
            Self::Moku(site) => site.repaired_head_target(),
            Self::Crystal(project) => project.head(),
            Self::WebArchive(archive) => archive.head(),
        }
    }

    /// The state of HEAD, including any fault.
    pub fn head_state(&self) -> Result<HeadState, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.head_state(),
            Self::Moku(site) => site.head_state(),
            Self::Crystal(_) | Self::WebArchive(_) => Ok(HeadState::Right),
        }
    }

    /// The folder whose files mirror HEAD, if this layout has one.
    pub fn working_tree(&self) -> Option<&Path> {
        match self {
            Self::Moku(site) => Some(site.root()),
            Self::Archive(_) | Self::Crystal(_) | Self::WebArchive(_) => None,
        }
    }

    /// When pages of two hosts are paired, unless the user names hosts.
    pub fn host_pairing(&self) -> HostPairing {
        match self {
            Self::Moku(_) => HostPairing::OnlyAtPath,
            Self::Archive(_) | Self::Crystal(_) | Self::WebArchive(_) => HostPairing::SameHost,
        }
    }

    /// Whether sensitive headers are redacted, both in output and in captures stored from now on.
    pub fn redaction(&self) -> Redaction {
        match self {
            Self::Archive(archive) => archive.redaction(),
            Self::Moku(site) => site.redaction(),
            // These have no such setting, so their content is shown unredacted.
            Self::Crystal(_) | Self::WebArchive(_) => Redaction::Off,
        }
    }

    /// Opens the body of a capture. Reading it to the end verifies it.
    pub fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.open_body(capture),
            Self::Moku(site) => site.open_body(capture),
            Self::Crystal(project) => project.open_body(capture),
            Self::WebArchive(archive) => archive.open_body(capture),
        }
    }

    /// Opens the bytes of a body from `start` up to, but not including, `end`. Bytes that can be
    /// skipped without reading are skipped.
    pub fn open_body_range(
        &self,
        capture: &Capture,
        start: u64,
        end: u64,
    ) -> Result<Box<dyn Read + Send>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.open_body_range(capture, start, end),
            Self::Moku(_) | Self::Crystal(_) | Self::WebArchive(_) => {
                body_range(self.open_body(capture)?, start, end)
            }
        }
    }

    /// Reads and verifies the body of a capture, replacing the contents of `into`. Returns false if
    /// the body is longer than `most` bytes; the caller then has to use
    /// [`open_body`](Self::open_body).
    pub fn read_body(
        &self,
        capture: &Capture,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<bool, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.read_body(capture, most, into),
            Self::Moku(_) | Self::Crystal(_) | Self::WebArchive(_) => {
                read_whole_body(self.open_body(capture)?, capture, most, into)
            }
        }
    }

    /// Which captures a purge removed from their versions: their bodies must not be shown.
    pub fn are_hidden(&self, captures: &[&Capture]) -> Result<Vec<bool>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.are_hidden(captures),
            Self::Moku(_) | Self::Crystal(_) | Self::WebArchive(_) => Ok(vec![false; captures.len()]),
        }
    }

    /// Like [`read_body`](Self::read_body), for a capture that is not hidden: the caller has asked
    /// [`are_hidden`](Self::are_hidden) about many at once.
    pub fn read_shown_body(
        &self,
        capture: &Capture,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<bool, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.read_shown_body(capture, most, into),
            Self::Moku(_) | Self::Crystal(_) | Self::WebArchive(_) => self.read_body(capture, most, into),
        }
    }

    /// Reads and verifies the bodies of many captures at once, which costs less than one by one if
    /// they lie near each other. `None` for a body that must be opened: it is longer than `most`,
    /// or cannot be shown or read.
    pub fn read_bodies(
        &self,
        captures: &[&Capture],
        most: u64,
    ) -> Result<Vec<Option<Vec<u8>>>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.read_shown_bodies(captures, most),
            Self::Moku(_) | Self::Crystal(_) | Self::WebArchive(_) => Ok(vec![None; captures.len()]),
        }
    }

    /// Sort keys for captures: reading their bodies in ascending order is fastest.
    pub fn read_order(&self, captures: &[&Capture]) -> Result<Vec<u64>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.read_order(captures),
            Self::Moku(_) | Self::Crystal(_) => Ok(vec![0; captures.len()]),
            Self::WebArchive(archive) => archive.read_order(captures),
        }
    }

    /// The response head as received on the wire, if it was stored.
    pub fn wire_head(&self, capture: &Capture) -> Result<Option<Vec<u8>>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.wire_head(capture),
            Self::Moku(_) => Ok(None),
            Self::Crystal(project) => project.wire_head(capture),
            Self::WebArchive(archive) => archive.wire_head(capture),
        }
    }

    /// The response content as received on the wire, with its content codings, if it was stored. It
    /// is not verified against a digest.
    pub fn open_payload(&self, capture: &Capture) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.open_payload(capture),
            Self::WebArchive(archive) => archive.open_payload(capture),
            Self::Moku(_) | Self::Crystal(_) => Ok(None),
        }
    }

    /// The response as received on the wire, including head and framing, if it was stored. It is
    /// not verified against a digest.
    pub fn open_wire(&self, capture: &Capture) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.open_wire(capture),
            Self::Crystal(project) => project.open_wire(capture),
            Self::WebArchive(archive) => archive.open_wire(capture),
            Self::Moku(_) => Ok(None),
        }
    }

    /// The location of a capture's record, for tools that read silos without varve. `None` if the
    /// layout has no silos.
    pub fn record_place(&self, capture: &Capture) -> Result<Option<RecordPlace>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.record_place(capture),
            Self::WebArchive(archive) => archive.record_place(capture),
            Self::Moku(_) | Self::Crystal(_) => Ok(None),
        }
    }

    /// The renderings that a browser made of a capture, if any.
    pub fn renderings(&self, capture: &Capture) -> Result<Renderings, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.renderings(capture),
            Self::Moku(_) | Self::Crystal(_) | Self::WebArchive(_) => Ok(Renderings::default()),
        }
    }

    /// The id of a capture's body. If the rows do not hold it, the body is read to compute it.
    pub fn body_id(&self, capture: &Capture) -> Result<BodyId, RepositoryError> {
        match self {
            Self::Archive(_) | Self::Moku(_) | Self::WebArchive(_) => Ok(capture.body),
            Self::Crystal(project) => project.body_id(capture),
        }
    }

    /// Whether the layout keeps versions. If not, a version stands for the state of everything at
    /// one moment.
    pub fn has_versions(&self) -> bool {
        match self {
            Self::Archive(_) | Self::Moku(_) | Self::WebArchive(_) => true,
            Self::Crystal(_) => false,
        }
    }

    /// The start time of the unfinished run, if any: it is still in progress, was stopped, or was
    /// interrupted.
    pub fn unfinished_since(&self) -> Result<Option<Moment>, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.unfinished_since(),
            Self::Moku(_) | Self::Crystal(_) | Self::WebArchive(_) => Ok(None),
        }
    }

    /// Whether a run is still in progress, or can be resumed. A run without a version that is
    /// neither was killed while it saved the pages of an extraction, or lost its queue with the
    /// catalog.
    pub fn is_unfinished(&self, run: RunId) -> Result<bool, RepositoryError> {
        match self {
            Self::Archive(archive) => archive.is_unfinished(run),
            Self::Moku(_) | Self::Crystal(_) | Self::WebArchive(_) => Ok(false),
        }
    }

    /// The capture that represents a URL when the caller gives no time. In a Crystal project, the
    /// choice it was opened with.
    pub fn choice(&self) -> CaptureChoice {
        match self {
            Self::Archive(_) | Self::Moku(_) | Self::WebArchive(_) => CaptureChoice::NewestGood,
            Self::Crystal(project) => project.choice(),
        }
    }
}
