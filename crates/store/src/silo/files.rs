//! Lists and opens the silo files.
//!
//! A silo that grows is a local file; a sealed one may have moved to a medium. Readers ask here by
//! number and need not know which. Numbers have no gaps: silo 7 exists only if 0 to 6 do or did.
//!
//! Of two files with the number of one silo, the one that describes itself by its name is read. If
//! that does not decide, neither is read, and everything in other silos still is.

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use varve_warc::WarcReader;
use varve_wire::ReadAtCursor;

use super::description::is_description_of;
use super::digest_chain::file_digest;
use super::name;
use super::unread_file::{UnreadReason, UnreadSiloFile};
use crate::disk::{Disk, DiskError, FileSource};
use crate::medium::{Digest, LocalMedium, Medium, MediumError, MediumObject, ReadAt};

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
    /// A sealed silo cannot be read to be moved.
    #[error("cannot read silo {number} to move it to its medium")]
    Unreadable {
        /// The number.
        number: u32,
        /// The cause.
        source: io::Error,
    },
    /// The file with the next silo number does not match its checksum.
    #[error(
        "`{}` is damaged: it holds `{}`, which does not match its checksum, and {}; `varve rebuild` writes it again",
        path.display(), found.escape_debug(), last_silo_text(*last)
    )]
    NextNumber {
        /// The file.
        path: PathBuf,
        /// Its text.
        found: String,
        /// The number of the last silo present.
        last: Option<u32>,
    },
    /// Two files have the same silo number.
    #[error(
        "silo {number} is there twice, as `{one}` and `{other}`; move the wrong one out of the archive; \
         `varve audit` tells which one describes itself as this silo"
    )]
    Twice {
        /// The number.
        number: u32,
        /// One file.
        one: String,
        /// The other.
        other: String,
    },
}

fn last_silo_text(last: Option<u32>) -> String {
    last.map_or_else(|| "there is no silo".to_owned(), |last| format!("the last silo here is number {last}"))
}

/// The files in the folder of silos.
pub(crate) struct SiloListing {
    /// The silos that are read, by number.
    pub(crate) silos: BTreeMap<u32, SiloFile>,
    /// Other files with the number of a silo.
    pub(crate) unread: Vec<UnreadSiloFile>,
}

/// All silos of an archive: the open one, and the sealed ones on their medium.
#[derive(Clone)]
pub struct SiloFiles {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) folder: PathBuf,
    /// The silos in `folder`: the open one, and the sealed ones unless they move.
    local: Arc<LocalMedium>,
    /// The medium that sealed silos move to, if it is another than `folder`.
    remote: Option<Arc<dyn Medium>>,
}

impl SiloFiles {
    /// The silos in a local folder. Sealed ones move to `remote`, if there is one.
    pub fn new(disk: Arc<dyn Disk>, folder: PathBuf, remote: Option<Arc<dyn Medium>>) -> Self {
        let local = Arc::new(LocalMedium::new(Arc::clone(&disk), folder.clone()));
        Self { disk, folder, local, remote }
    }

    /// The media that hold silos, the nearest first.
    fn media(&self) -> impl Iterator<Item = &dyn Medium> {
        let local: &dyn Medium = &*self.local;
        std::iter::once(local).chain(self.remote.as_deref())
    }

    /// All silos, by number, without those whose file is ambiguous.
    pub fn list(&self) -> Result<BTreeMap<u32, SiloFile>, SiloError> {
        Ok(self.survey()?.silos)
    }

    /// All silos, and the files that have the number of a silo and are not read.
    pub(crate) fn survey(&self) -> Result<SiloListing, SiloError> {
        let mut found: BTreeMap<u32, Vec<SiloFile>> = BTreeMap::new();
        let mut misplaced = Vec::new();
        for (number, medium) in self.media().enumerate() {
            for MediumObject { name, length, read_only } in medium.list("")? {
                if let Some((silo, ending)) = name::parse(&name) {
                    let moved = number > 0;
                    let files = found.entry(silo).or_default();
                    // An interrupted move left the local copy, which equals the moved one and is nearer.
                    if !files.iter().any(|file| file.ending == ending) {
                        files.push(SiloFile { number: silo, ending, length, read_only, moved });
                    }
                } else if let Some(silo) = name::number_in(&name) {
                    misplaced.push((silo, name));
                }
            }
        }
        let mut listing = SiloListing { silos: BTreeMap::new(), unread: Vec::new() };
        found.into_values().for_each(|files| self.choose(files, &mut listing));
        let unread = misplaced.into_iter().map(|(number, name)| {
            let silo = listing.silos.get(&number).map(SiloFile::name);
            UnreadSiloFile { number, name, reason: UnreadReason::Misplaced { silo } }
        });
        listing.unread.extend(unread);
        Ok(listing)
    }

    /// Adds the file of a silo to a listing, or all of them as unread if none can be chosen.
    fn choose(&self, files: Vec<SiloFile>, listing: &mut SiloListing) {
        let chosen = match files.as_slice() {
            [only] => Some(only.ending),
            several => only_one(several.iter().filter(|file| self.describes_itself(file))),
        };
        let name = files.iter().find(|file| Some(file.ending) == chosen).map(SiloFile::name);
        for file in files {
            if Some(file.ending) == chosen {
                listing.silos.insert(file.number, file);
                continue;
            }
            let reason = match &name {
                Some(silo) => UnreadReason::Other { silo: silo.clone() },
                None => UnreadReason::Ambiguous,
            };
            listing.unread.push(UnreadSiloFile { number: file.number, name: file.name(), reason });
        }
    }

    /// Whether the description in a file names that file. False when it cannot be read.
    fn describes_itself(&self, file: &SiloFile) -> bool {
        let Ok(Some(source)) = self.open_file(file.number, file.ending) else { return false };
        let record = WarcReader::at(source, 0).and_then(WarcReader::into_record);
        record.is_ok_and(|record| {
            record.is_some_and(|record| is_description_of(record.header(), file.number, file.ending))
        })
    }

    /// All silos, by number. Fails if one has two files: a writer must not guess which one is right.
    pub(crate) fn list_single_files(&self) -> Result<BTreeMap<u32, SiloFile>, SiloError> {
        let SiloListing { silos, unread } = self.survey()?;
        match unread.into_iter().find(|file| !file.is_misplaced()) {
            Some(file) => Err(twice(file.number)),
            None => Ok(silos),
        }
    }

    /// Opens a silo for reading.
    pub fn open(&self, number: u32) -> Result<Arc<dyn ReadAt>, SiloError> {
        if let Some(source) = self.open_file(number, name::GZIP_EXTENSION)? {
            let other = self.path(number, name::ZSTD_EXTENSION);
            return if self.disk.stat(&other)?.is_none() { Ok(source) } else { self.open_chosen(number) };
        }
        self.open_file(number, name::ZSTD_EXTENSION)?.ok_or(SiloError::Missing { number })
    }

    /// The file of a silo with this ending, on the nearest medium that has it.
    fn open_file(&self, number: u32, ending: &str) -> Result<Option<Arc<dyn ReadAt>>, SiloError> {
        let name = name::name(number, ending);
        for medium in self.media() {
            match medium.open(&name) {
                Err(MediumError::Absent { .. }) => {}
                source => return Ok(Some(source?)),
            }
        }
        Ok(None)
    }

    /// Opens the one of two files that is the silo.
    fn open_chosen(&self, number: u32) -> Result<Arc<dyn ReadAt>, SiloError> {
        match self.survey()?.silos.get(&number) {
            Some(silo) => self.open_file(number, silo.ending)?.ok_or(SiloError::Missing { number }),
            None => Err(twice(number)),
        }
    }

    /// Whether sealed silos move to another medium.
    pub(crate) fn moves_sealed(&self) -> bool {
        self.remote.is_some()
    }

    /// Moves a sealed silo to its medium, if that is another than the local folder. Hashes the silo
    /// unless `checksum` has its digest.
    pub(crate) fn move_sealed(
        &self,
        number: u32,
        ending: &str,
        checksum: Option<Digest>,
    ) -> Result<(), SiloError> {
        let Some(medium) = &self.remote else { return Ok(()) };
        let unread = |source| SiloError::Unreadable { number, source };
        let path = self.path(number, ending);
        let source = FileSource::new(self.disk.open(&path)?);
        let checksum = match checksum {
            Some(checksum) => checksum,
            None => file_digest(&source).map_err(unread)?,
        };
        match medium.put(&name::name(number, ending), &mut ReadAtCursor::new(&source, 0), &checksum) {
            Ok(()) => {}
            // An interrupted attempt stored it and did not remove the local file, or it is another.
            Err(MediumError::Taken { name }) => {
                if file_digest(&*medium.open(&name)?).map_err(unread)? != checksum {
                    return Err(SiloError::Differs { number });
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(self.disk.remove(&path)?)
    }

    /// Moves the sealed silos whose move was interrupted.
    pub(crate) fn move_all_sealed(&self) -> Result<(), SiloError> {
        if !self.moves_sealed() {
            return Ok(());
        }
        for silo in self.list()?.into_values().filter(|silo| silo.read_only && !silo.moved) {
            self.move_sealed(silo.number, silo.ending, None)?;
        }
        Ok(())
    }

    pub(crate) fn path(&self, number: u32, ending: &str) -> PathBuf {
        self.folder.join(name::path(number, ending))
    }
}

/// The ranges of numbers below `end`, or below the last of the sorted `numbers`, that are not among
/// them.
pub(crate) fn missing_ranges(numbers: &[u32], end: u32) -> Vec<RangeInclusive<u32>> {
    let mut ranges = Vec::new();
    let mut next = 0;
    for number in numbers.iter().copied().chain(std::iter::once(end)) {
        if number > next {
            ranges.push(next..=number - 1);
        }
        next = next.max(number + 1);
    }
    ranges
}

/// The error of a silo with two files.
fn twice(number: u32) -> SiloError {
    let [one, other] = [name::GZIP_EXTENSION, name::ZSTD_EXTENSION].map(|ending| name::name(number, ending));
    SiloError::Twice { number, one, other }
}

/// The extension of the only file; `None` when there are several or none.
fn only_one<'a>(mut files: impl Iterator<Item = &'a SiloFile>) -> Option<&'static str> {
    match (files.next(), files.next()) {
        (Some(only), None) => Some(only.ending),
        _ => None,
    }
}
