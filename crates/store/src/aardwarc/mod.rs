//! AardWARC stores: their objects, read from their silos.
//!
//! An AardWARC store is a folder of silos with an index of its own, which is not needed here: the silos say everything.
//! Every record is three gzip members, ids are a prefix and the first digits of a SHA-256, large objects are cut into
//! segments that lie in any silos. There are two ways in. [`Aardwarc`] reads every byte, for who brings all objects
//! elsewhere or audits; [`AardwarcStore`] reads headers alone and then finds any object, for who wants some of them
//! where they are. Nothing here ever writes to such a store.

mod audit;
mod examine;
mod folder;
mod object;
mod scan;
mod segments;
mod store;

use std::io;
use std::path::{Path, PathBuf};

use varve_warc::Error;
use varve_warc::rule::{Finding, Rule, Severity};

use crate::audit::{AuditKind, AuditSeverity};
use crate::error::StoreError;

pub use audit::audit;
pub use examine::Aardwarc;
pub use folder::is_store;
pub use object::{AardwarcContent, AardwarcObject};
pub use store::AardwarcStore;

/// Why a store could not be read.
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
    /// The index that is made of it cannot be kept for the time being.
    #[error("cannot make an index of it in the folder for temporary files")]
    Index(#[source] StoreError),
    /// Several ids begin so.
    #[error("{count} ids begin with `{digits}`")]
    Ambiguous {
        /// The beginning.
        digits: String,
        /// How many.
        count: usize,
    },
    /// An object was found of which not all is there.
    #[error("`{id}` at byte {offset} of `{}` is not whole: {why}", silo.display())]
    NotWhole {
        /// Its id.
        id: String,
        /// Where it begins.
        silo: PathBuf,
        /// At which byte.
        offset: u64,
        /// What is missing.
        why: String,
    },
}

/// Something in a store that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AardwarcFinding {
    /// What kind of thing.
    pub kind: AuditKind,
    /// How bad it is. What AardWARC itself may leave behind is no error.
    pub severity: AuditSeverity,
    /// The silo.
    pub silo: PathBuf,
    /// Where in it.
    pub offset: u64,
    /// The id of the record, where there is one.
    pub id: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl AardwarcFinding {
    fn new(kind: AuditKind, silo: &Path, offset: u64, message: impl Into<String>) -> Self {
        let (silo, message) = (silo.to_owned(), message.into());
        Self { kind, severity: kind.severity(), silo, offset, id: None, message }
    }

    fn of(finding: &Finding, silo: &Path) -> Self {
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

/// Whether a finding means that bytes are not what they were. That a record is spread over members is how AardWARC writes.
fn is_damage(finding: &Finding) -> bool {
    finding.rule.severity() == Severity::Error
}

/// The digits of an id: what stands behind its prefix.
fn digits_of(id: &[u8]) -> String {
    let text = String::from_utf8_lossy(id).to_ascii_lowercase();
    text.rsplit(['/', ':']).next().unwrap_or_default().to_owned()
}
