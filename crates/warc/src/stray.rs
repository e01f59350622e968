//! Bytes that belong to no record, put aside for who wants to keep a trace of them.
//!
//! Only a repair does. Small stretches are kept as they are; of large ones place and length are known, and that must do:
//! junk may be as large as the file.

/// Stretches up to this length are kept.
pub(crate) const LARGEST_KEPT: usize = 4 << 10;
/// So many stretches are kept until they are taken.
const MOST_KEPT: usize = 64;

/// A stretch of bytes that belong to no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    /// Where it begins: as a finding about it says, or, of a member that was read in part, where reading stopped.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// The bytes, when they are few.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// The stray bytes since they were last taken, when they are asked for.
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

    /// Puts a stretch aside; `bytes` are its first.
    pub(crate) fn push(&mut self, offset: u64, length: u64, bytes: &[u8]) {
        if self.wanted && self.kept.len() < MOST_KEPT {
            let is_whole = bytes.len() as u64 == length && bytes.len() <= LARGEST_KEPT;
            self.kept.push(Stray { offset, length, bytes: is_whole.then(|| bytes.to_vec()) });
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Stray> {
        std::mem::take(&mut self.kept)
    }
}
