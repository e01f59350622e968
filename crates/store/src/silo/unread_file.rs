//! Files that have the number of a silo and are not read as that silo.
//!
//! Only describes them. Which file is read is decided by [`super::SiloFiles`].

use std::fmt;

use super::name;

/// A file that has the number of a silo and is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadSiloFile {
    /// The number.
    pub number: u32,
    /// Its name relative to the folder of silos.
    pub name: String,
    /// Why it is not read.
    pub reason: UnreadReason,
}

/// Why a file with the number of a silo is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadReason {
    /// Another file of this name, packed otherwise, describes itself as the silo.
    Other {
        /// The name of that file.
        silo: String,
    },
    /// There are two files, and both or none describe themselves as the silo.
    Ambiguous,
    /// It is in another folder than the silo, or not packed.
    Misplaced {
        /// The name of the silo, if that is present.
        silo: Option<String>,
    },
}

impl UnreadSiloFile {
    /// Whether its silo is not read because of it.
    pub fn is_ambiguous(&self) -> bool {
        self.reason == UnreadReason::Ambiguous
    }

    /// Whether it is where no silo is.
    pub(crate) fn is_misplaced(&self) -> bool {
        matches!(self.reason, UnreadReason::Misplaced { .. })
    }
}

impl fmt::Display for UnreadSiloFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, name, reason } = self;
        match reason {
            UnreadReason::Other { silo } | UnreadReason::Misplaced { silo: Some(silo) } => write!(
                formatter,
                "`{name}` has the number of silo `{silo}` and is not read; move it out of the archive"
            ),
            UnreadReason::Ambiguous => {
                let endings = [name::GZIP_EXTENSION, name::ZSTD_EXTENSION];
                let other =
                    endings.map(|ending| name::name(*number, ending)).into_iter().find(|other| other != name);
                let other = other.unwrap_or_default();
                write!(
                    formatter,
                    "`{name}` and `{other}` have the same number, and their descriptions do not tell which is the \
                     silo, so `{name}` is not read; move the wrong one out of the archive"
                )
            }
            UnreadReason::Misplaced { silo: None } => write!(
                formatter,
                "`{name}` has the number of silo {number}, which is missing, and is not read here; if it is that \
                 silo, move it to `{}` or `{}`",
                name::name(*number, name::GZIP_EXTENSION),
                name::name(*number, name::ZSTD_EXTENSION),
            ),
        }
    }
}
