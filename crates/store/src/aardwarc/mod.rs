//! Reads objects from AardWARC stores.
//!
//! An AardWARC store is a folder of silos with an index of its own. Every record is three gzip
//! members, an id is a prefix and the first digits of a SHA-256, and large objects are cut into
//! segments in any silos. [`Aardwarc`] reads every byte, for import and audit. [`AardwarcStore`]
//! finds objects by id with that index. Nothing here writes to such a store.

mod audit;
mod check_files;
mod folder;
mod index_files;
mod object;
mod scan;
mod scanned_silos;
mod segments;
mod store;
mod verified_read;

use std::io;
use std::path::{Path, PathBuf};

use varve_warc::Error;
use varve_warc::rules::{Rule, RuleSeverity, WarcFinding};

use crate::audit::{AuditKind, AuditSeverity};
use crate::error::StoreError;

pub use audit::audit;
pub use folder::{AardwarcSilo, is_store};
pub use object::{AardwarcContent, AardwarcObject};
pub use store::AardwarcStore;
pub use verified_read::Aardwarc;

/// Why an AardWARC store could not be read.
#[derive(Debug, thiserror::Error)]
pub enum AardwarcError {
    /// A folder or file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A silo cannot be read as WARC.
    #[error("cannot read silo `{}`", path.display())]
    Silo {
        /// Which.
        path: PathBuf,
        /// The cause.
        source: Error,
    },
    /// Its temporary index cannot be written.
    #[error("cannot make an index of it in the folder for temporary files")]
    Index(#[source] StoreError),
    /// An abbreviated id matches several records.
    #[error("{count} ids begin with `{digits}`")]
    Ambiguous {
        /// The abbreviated id.
        digits: String,
        /// The number of matching ids.
        count: usize,
    },
    /// An object is incomplete.
    #[error("`{id}` at byte {offset} of `{}` is not whole: {why}", silo.display())]
    NotWhole {
        /// Its id.
        id: String,
        /// Its start.
        silo: PathBuf,
        /// The offset in the silo.
        offset: u64,
        /// The missing part.
        why: String,
    },
}

/// A finding in an AardWARC store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AardwarcFinding {
    /// Its kind.
    pub kind: AuditKind,
    /// Its severity. Remains that AardWARC itself may leave are no error.
    pub severity: AuditSeverity,
    /// The silo.
    pub silo: PathBuf,
    /// Where in it.
    pub offset: u64,
    /// The id of the record, if it has one.
    pub id: Option<String>,
    /// The message.
    pub message: String,
}

impl AardwarcFinding {
    fn new(kind: AuditKind, silo: &Path, offset: u64, message: impl Into<String>) -> Self {
        let (silo, message) = (silo.to_owned(), message.into());
        Self { kind, severity: kind.severity(), silo, offset, id: None, message }
    }

    fn of(finding: &WarcFinding, silo: &Path) -> Self {
        let kind = match finding.rule {
            Rule::BlockDigest | Rule::PayloadDigest => AuditKind::Digest,
            _ => AuditKind::Damaged,
        };
        Self::new(kind, silo, finding.offset, &finding.message)
    }

    fn with_id(self, id: Option<&[u8]>) -> Self {
        Self { id: id.map(|id| String::from_utf8_lossy(id).into_owned()), ..self }
    }
}

/// Whether a finding is damage. A record spread over several members is normal for AardWARC.
fn is_damage(finding: &WarcFinding) -> bool {
    finding.rule.severity() == RuleSeverity::Error
}

/// The hex digits of an id, without its prefix.
fn digits_of(id: &[u8]) -> String {
    let text = String::from_utf8_lossy(id).to_ascii_lowercase();
    text.rsplit(['/', ':']).next().unwrap_or_default().to_owned()
}
