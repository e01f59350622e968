//! Lists and opens the silo files.
//!
//! A silo that grows is a local file; a sealed one may have moved to a medium. Readers ask here by
//! number and need not know which. Numbers have no gaps: silo 7 exists only if 0 to 6 do or did.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use varve_wire::ReadAt;

use super::{digest_chain, name};
use crate::disk::{Disk, DiskError, FileSource};
use crate::medium::{Medium, MediumError};

/// The metadata of a silo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiloFile {
    /// Its number.
    pub number: u32,
    /// Its file extension.
    pub ending: &'static str,
    /// Its current length.
    pub length: u64,
    /// It has no write permission.
    pub read_only: bool,
    /// It lies on the medium, not here.
    pub moved: bool,
}

impl SiloFile {
    /// Its name relative to the folder of silos.
    pub fn name(&self) -> String {
        name::name(self.number, self.ending)
    }
}

/// An error of the silo files.
#[derive(Debug, thiserror::Error)]
pub enum SiloError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The medium failed.
    #[error(transparent)]
    Medium(#[from] MediumError),
    /// There is no such silo.
    #[error("silo {number} is missing")]
    Missing {
        /// Its number.
        number: u32,
    },
    /// Here and on the medium, and not the same.
    #[error("silo {number} is on the medium already, with other content; neither is removed")]
    Differs {
        /// The number.
        number: u32,
    },
    /// Here and on the medium, and cannot be compared.
    #[error("cannot compare silo {number} with the one on the medium")]
    Compare {
        /// The number.
        number: u32,
        /// The cause.
        source: io::Error,
    },
    /// Two files have the same silo number.
    #[error("silo {number} is there twice, as `{one}` and `{other}`")]
    Twice {
        /// The number.
        number: u32,
        /// One file.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
}

/// All silos of an archive.
#[derive(Clone)]
pub struct SiloFiles {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) folder: PathBuf,
    pub(crate) sealed: Option<Arc<dyn Medium>>,
}

impl SiloFiles {
    /// Silos in a local folder; sealed ones on `sealed`, if they are to move there.
    pub fn new(disk: Arc<dyn Disk>, folder: PathBuf, sealed: Option<Arc<dyn Medium>>) -> Self {
        Self { disk, folder, sealed }
    }

    /// All silos, by number.
    pub fn list(&self) -> Result<BTreeMap<u32, SiloFile>, SiloError> {
        let mut found = BTreeMap::new();
        if let Some(medium) = &self.sealed {
            for listed in medium.list("")? {
                if let Some((number, ending)) = name::parse(&listed.name) {
                    add(
                        &mut found,
                        SiloFile { number, ending, length: listed.length, read_only: true, moved: true },
                    )?;
                }
            }
        }
        self.walk(&self.folder, "", &mut found)?;
        Ok(found)
    }

    fn walk(
        &self,
        folder: &Path,
        prefix: &str,
        found: &mut BTreeMap<u32, SiloFile>,
    ) -> Result<(), SiloError> {
        let entries = match self.disk.list(folder) {
            Err(error) if error.is_absent() => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let Some(part) = entry.to_str() else { continue };
            let path = folder.join(part);
            // Only a temporary file can vanish here: silos are not removed while in use.
            let Some(stat) = self.disk.stat(&path)? else { continue };
            let name = format!("{prefix}{part}");
            if stat.folder {
                if part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit()) {
                    self.walk(&path, &format!("{name}/"), found)?;
                }
            } else if let Some((number, ending)) = name::parse(&name) {
                let silo =
                    SiloFile { number, ending, length: stat.length, read_only: stat.read_only, moved: false };
                add(found, silo)?;
            }
        }
        Ok(())
    }

    /// Opens a silo for reading.
    pub fn open(&self, number: u32) -> Result<Arc<dyn ReadAt>, SiloError> {
        for ending in [name::GZIP_EXTENSION, name::ZSTD_EXTENSION] {
            match self.disk.open(&self.path(number, ending)) {
                Ok(file) => return Ok(Arc::new(FileSource::new(file))),
                Err(error) if error.is_absent() => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(medium) = &self.sealed {
                match medium.open(&name::name(number, ending)) {
                    Ok(source) => return Ok(source),
                    Err(MediumError::Absent { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Err(SiloError::Missing { number })
    }

    /// Moves a sealed silo to the medium, if sealed silos lie there.
    pub(crate) fn move_to_medium(&self, number: u32, ending: &str) -> Result<(), SiloError> {
        let Some(medium) = &self.sealed else { return Ok(()) };
        let path = self.path(number, ending);
        let mut content = SequentialRead { source: FileSource::new(self.disk.open(&path)?), offset: 0 };
        match medium.put(&name::name(number, ending), &mut content) {
            Ok(()) => {}
            // An earlier attempt got so far and was interrupted before the local file was removed;
            // or it is another's.
            Err(MediumError::Taken { name }) => {
                if !is_same(&content.source, &*medium.open(&name)?)
                    .map_err(|source| SiloError::Compare { number, source })?
                {
                    return Err(SiloError::Differs { number });
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(self.disk.remove(&path)?)
    }

    /// Moves to the medium what was sealed and did not get there, because something ended the
    /// process in between.
    pub(crate) fn move_all_sealed(&self) -> Result<(), SiloError> {
        if self.sealed.is_none() {
            return Ok(());
        }
        for silo in self.list()?.into_values().filter(|silo| silo.read_only && !silo.moved) {
            self.move_to_medium(silo.number, silo.ending)?;
        }
        Ok(())
    }

    pub(crate) fn path(&self, number: u32, ending: &str) -> PathBuf {
        self.folder.join(name::path(number, ending))
    }
}

/// Whether two files have the same length and the same SHA-256.
fn is_same(one: &dyn ReadAt, other: &dyn ReadAt) -> io::Result<bool> {
    Ok(one.size()? == other.size()? && digest_chain::file_digest(one)? == digest_chain::file_digest(other)?)
}

fn add(found: &mut BTreeMap<u32, SiloFile>, silo: SiloFile) -> Result<(), SiloError> {
    match found.get(&silo.number) {
        // A silo that was put on the medium but not yet removed here: the local copy is the same,
        // and nearer.
        Some(other) if other.ending == silo.ending => {}
        Some(other) => {
            return Err(SiloError::Twice { number: silo.number, one: other.ending, other: silo.ending });
        }
        None => {}
    }
    found.insert(silo.number, silo);
    Ok(())
}

/// A source as something to read from its beginning.
struct SequentialRead {
    source: FileSource,
    offset: u64,
}

impl io::Read for SequentialRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
