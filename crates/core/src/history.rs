//! History: versions, the captures in them, and the tags on them.
//!
//! Every layout is translated into these values: a varve archive, a Moku site and a Crystal
//! project. The catalog and the formats decide how they are stored.

mod coverage;
mod page_state;
mod query;
mod stored;
mod stored_extraction;
mod verdict_kind;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::headers::HeaderView;
use crate::{BodyId, CaptureId, Moment, RecordId, RunId, VersionId};

pub use coverage::{Coverage, CoverageScope};
pub use page_state::{
    AbsenceKind, FoldedPresence, PageAbsence, PageState, Presence, PresenceFold, StateCounts,
};
pub use query::{
    CaptureFilter, ListCursor, TimeOrder, VersionFilter, VersionInfo, VersionTextMatcher, uuid_range,
};
pub use stored::{
    Attribution, StoredCheck, StoredDiff, StoredDiffInfo, StoredEvidenceLocation, StoredScore, StoredVerdict,
};
pub use stored_extraction::{DomainSettings, FetchMethod, KeyedUrl, StoredDomainSettings, StoredExtraction};
pub use verdict_kind::{UnknownVerdict, VerdictCounts, VerdictKind};

/// What one run or commit brought. Its state is that of its parent with these changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Its id, which comes from its manifest.
    pub id: VersionId,
    /// The parent version.
    pub parent: Option<VersionId>,
    /// The message.
    pub message: String,
    /// The author.
    pub author: Option<String>,
    /// When it was made.
    pub time: Moment,
    /// The run whose captures it holds, if a crawl made it.
    pub run: Option<RunId>,
    /// The record of its manifest, if there is one.
    pub record: Option<RecordId>,
    /// What it covers, if its manifest says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
}

/// The owner of a capture: a version, or a run that has not become a version yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CaptureOwner {
    /// A version.
    Version(VersionId),
    /// A run.
    Run(RunId),
}

/// The bytes of its owner's id with which the id of a capture begins. The other bytes are a digest.
const OWNER_PREFIX_BYTES: usize = 4;

/// One URL at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Its id.
    pub id: CaptureId,
    /// The version or run that it belongs to.
    pub owner: CaptureOwner,
    /// The requested URL.
    pub url: String,
    /// The path of the page in a working tree. Diffs pair the pages of two versions by it.
    pub path: String,
    /// When it was captured.
    pub time: Moment,
    /// The status of the response; 0 if there was none.
    pub status: u16,
    /// The headers of the response, in the form in which they are compared.
    pub headers: HeaderView,
    /// The body.
    pub body: BodyId,
    /// The length of the body in bytes, if it is known.
    pub length: Option<u64>,
    /// The record that holds the response, or the revisit record that refers to it.
    pub record: Option<RecordId>,
    /// Whether the response is truncated.
    pub truncated: bool,
}

impl Capture {
    /// Whether the response is complete and successful.
    pub fn is_good(&self) -> bool {
        CaptureChoice::is_good(self.status.into(), !self.truncated)
    }

    /// The id of a capture of an archive. It is the same each time the row is rebuilt.
    ///
    /// It begins with digits of its owner's id. So the captures of a version are neighbours in every
    /// index by id, and a commit changes a few pages of it instead of one per capture.
    pub fn derive_id(belongs: CaptureOwner, url: &str, time: Moment, record: &RecordId) -> CaptureId {
        let owner = match belongs {
            CaptureOwner::Version(version) => version.into_inner(),
            CaptureOwner::Run(run) => run.into_inner(),
        };
        let mut hasher = Sha256::new();
        hasher.update(b"varve capture\n");
        hasher.update(owner.as_bytes());
        hasher.update(record.as_bytes());
        hasher.update(time.micros().to_be_bytes());
        hasher.update(url.as_bytes());
        let mut digest: [u8; 32] = hasher.finalize().into();
        digest[..OWNER_PREFIX_BYTES].copy_from_slice(&owner.as_bytes()[..OWNER_PREFIX_BYTES]);
        CaptureId::new(uuid_of(&digest))
    }
}

/// Which capture of a URL represents it, since the newest may record a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CaptureChoice {
    /// The newest capture, failures included: the rule of Crystal.
    #[default]
    Newest,
    /// The newest good capture; the newest of all if none is good.
    NewestGood,
}

impl CaptureChoice {
    /// Chooses among captures that come newest first.
    pub fn choose<T, E>(
        self,
        newest_first: impl IntoIterator<Item = Result<T, E>>,
        is_good: impl Fn(&T) -> Result<bool, E>,
    ) -> Result<Option<T>, E> {
        let mut newest = None;
        for one in newest_first {
            let one = one?;
            if self == Self::Newest || is_good(&one)? {
                return Ok(Some(one));
            }
            newest = newest.or(Some(one));
        }
        Ok(newest)
    }

    /// Whether a response with this status is a success, given whether it is complete.
    pub const fn is_good(status: i64, is_whole: bool) -> bool {
        is_whole && 200 <= status && status < 400
    }
}

/// A name that a user gave to a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VersionTag {
    /// The name.
    pub name: String,
    /// The version that it points to.
    pub version: VersionId,
    /// When it was set.
    pub time: Moment,
}

/// A UUID (version 8 of RFC 9562: made from a digest) from the beginning of a SHA-256.
pub fn uuid_of(digest: &[u8; 32]) -> Uuid {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
