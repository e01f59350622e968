//! Bytes that belong to no record, kept for a repair.
//!
//! Short ranges are kept as they are. Of long ones only offset and length are kept, because junk
//! may be as large as the file.

/// Ranges up to this length are kept with their bytes.
pub(crate) const MAX_STRAY_BYTES: usize = 4 << 10;
/// Maximum number of ranges that are kept until they are taken.
const MAX_STRAYS: usize = 64;

/// A range of bytes that belong to no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    /// Where it begins: the offset of the finding about it or, for a member that was read in part,
    /// where reading stopped.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// The bytes, if they are few.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// The stray bytes since they were last taken, if they are wanted.
#[derive(Default)]
pub(crate) struct Strays {
    wanted: bool,
    kept: Vec<Stray>,
}

impl Strays {
    pub(crate) fn want(&mut self) {
        self.wanted = true;
    }

    pub(crate) fn are_wanted(&self) -> bool {
        self.wanted
    }

    /// Keeps a range; `bytes` are its first bytes.
    pub(crate) fn push(&mut self, offset: u64, length: u64, bytes: &[u8]) {
        if self.wanted && self.kept.len() < MAX_STRAYS {
            let is_whole = bytes.len() as u64 == length && bytes.len() <= MAX_STRAY_BYTES;
            self.kept.push(Stray { offset, length, bytes: is_whole.then(|| bytes.to_vec()) });
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Stray> {
        std::mem::take(&mut self.kept)
    }
}
