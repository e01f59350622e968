//! An AardWARC store opened in place for reading objects by id.
//!
//! AardWARC's own index finds the record, and the header of the record confirms it: the index
//! trusts 96 bits of an id, may be behind its silos, and may name silos that were renamed since.
//! What it does not find, or finds incomplete, is looked up once more in a temporary index made
//! from the headers of all silos. So an absent id costs the time to read all headers, once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::{Error, WarcReader};

use super::folder::{AardwarcFolder, AardwarcSilo, number_of};
use super::index_files::{AardwarcIndex, AardwarcIndexEntry};
use super::object::AardwarcObject;
use super::scanned_silos::{ScannedSilos, prefix_of};
use super::segments::AardwarcSegments;
use super::{AardwarcError, AardwarcFinding, digits_of};
use crate::index::{PrefixRange, SiloPlace};

/// Maximum number of records examined to count the ids with a common beginning.
const MAX_ID_CANDIDATES: usize = 1000;
/// Bits of the id of the next segment in an index entry.
const NEXT_SEGMENT_BITS: u32 = 32;

/// Receives the number of bytes processed since the last call.
type ProgressFn = Box<dyn Fn(u64) + Send + Sync>;

/// An AardWARC store, open for reading.
pub struct AardwarcStore {
    silos: Vec<AardwarcSilo>,
    /// The position in `silos` of each silo number.
    numbers: HashMap<u32, usize>,
    index: AardwarcIndex,
    scanned: OnceLock<ScannedSilos>,
    /// Held while the silos are scanned, so that this happens once.
    scanning: Mutex<()>,
    progress: ProgressFn,
}

/// A record that an id may refer to.
struct AardwarcCandidate {
    digits: String,
    header: RecordHeader,
    place: SiloPlace,
    /// The first bits of the id of its next segment; 0 if there is none or it is not known.
    next: u32,
}

impl AardwarcCandidate {
    fn is_object(&self) -> bool {
        matches!(self.header.record_type(), RecordType::Resource | RecordType::Metadata)
    }
}

impl AardwarcStore {
    /// Opens the store in a folder, or that of a settings file; `None` when it has no AardWARC silo.
    /// If a lookup has to read all silos, each number of processed bytes is passed to `progress`.
    pub fn open(path: &Path, progress: ProgressFn) -> Result<Option<Self>, AardwarcError> {
        let folder = AardwarcFolder::open(path)?;
        let Some(silos) = folder.silos()? else { return Ok(None) };
        let mut numbers = HashMap::new();
        for (position, silo) in silos.iter().enumerate() {
            if let Some(number) = number_of(silo.path()) {
                numbers.entry(number).or_insert(position);
            }
        }
        let index = AardwarcIndex::open(folder.silo_folder())?;
        let (scanned, scanning) = (OnceLock::new(), Mutex::new(()));
        Ok(Some(Self { silos, numbers, index, scanned, scanning, progress }))
    }

    /// The total length of the silos of the store at a path.
    pub fn bytes_to_read(path: &Path) -> Result<u64, AardwarcError> {
        let silos = AardwarcFolder::open(path)?.silos()?.unwrap_or_default();
        silos.iter().try_fold(0, |sum, silo| Ok(sum + silo.length()?))
    }

    /// The silos, in order of their names.
    pub fn silos(&self) -> &[AardwarcSilo] {
        &self.silos
    }

    /// Unreadable headers, if all silos were read. Their records are not found.
    pub fn findings(&self) -> &[AardwarcFinding] {
        self.scanned.get().map_or(&[], |scanned| &scanned.findings)
    }

    /// Whether a lookup has read all silos because the index did not have the answer.
    pub fn has_read_silos(&self) -> bool {
        self.scanned.get().is_some()
    }

    /// The object whose id begins with these hex digits, or whose id is the beginning of these
    /// digits: a full SHA-256 finds an object stored under its first half. Objects take precedence
    /// over other records.
    pub fn object(&self, digits: &str) -> Result<Option<AardwarcObject>, AardwarcError> {
        let indexed = self.indexed_candidates(digits)?;
        let found = choose(digits, indexed, |candidate| self.indexed_object(candidate));
        match found {
            Ok(Some(_)) | Err(AardwarcError::Ambiguous { .. }) => found,
            _ => {
                let scanned = self.scanned()?;
                let candidates = self.scanned_candidates(scanned, digits)?;
                choose(digits, candidates, |candidate| self.whole(&candidate, &scanned.segments))
            }
        }
    }

    /// Which of the ids are stored, in their order. Each must be at least as long as the stored id.
    pub fn have(&self, wanted: &[String]) -> Result<Vec<bool>, AardwarcError> {
        let mut have = vec![false; wanted.len()];
        self.confirm(wanted, self.indexed_places(wanted)?, &mut have)?;
        let missing: Vec<usize> = (0..wanted.len()).filter(|number| !have[*number]).collect();
        if !missing.is_empty() {
            let prefixes: Vec<_> = missing.iter().map(|number| prefix_of(&wanted[*number])).collect();
            let places = self.scanned()?.places_of_many(&prefixes)?;
            let places = places.into_iter().map(|(place, number)| (place, missing[number])).collect();
            self.confirm(wanted, places, &mut have)?;
        }
        Ok(have)
    }

    /// Marks the ids that the records at these places have.
    fn confirm(
        &self,
        wanted: &[String],
        mut places: Vec<(SiloPlace, usize)>,
        have: &mut [bool],
    ) -> Result<(), AardwarcError> {
        places.sort_unstable();
        for (place, number) in places {
            if have[number] {
                continue;
            }
            let header = self.header_at(place)?;
            let id = header.as_ref().and_then(RecordHeader::record_id).map(digits_of);
            have[number] = id.is_some_and(|id| !id.is_empty() && wanted[number].starts_with(&id));
        }
        Ok(())
    }

    /// The places that the index has for the ids, each with the number of the id.
    fn indexed_places(&self, wanted: &[String]) -> Result<Vec<(SiloPlace, usize)>, AardwarcError> {
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|number| prefix_of(&wanted[*number]));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut ranges: Vec<PrefixRange> = Vec::new();
        for number in order {
            let range = PrefixRange::leading(prefix_of(&wanted[number]).0, 64);
            match (ranges.last(), groups.last_mut()) {
                (Some(last), Some(group)) if last.first == range.first => group.push(number),
                _ => {
                    ranges.push(range);
                    groups.push(vec![number]);
                }
            }
        }
        let mut places = Vec::new();
        self.index.find(&ranges, &mut |group, entry| {
            if let Some(place) = self.place_of(&entry) {
                places.extend(groups[group].iter().map(|number| (place, *number)));
            }
            true
        })?;
        Ok(places)
    }

    fn place_of(&self, entry: &AardwarcIndexEntry) -> Option<SiloPlace> {
        let position = *self.numbers.get(&entry.silo)?;
        SiloPlace::new(u32::try_from(position).ok()?, entry.offset).ok()
    }

    fn indexed_candidates(&self, digits: &str) -> Result<Vec<AardwarcCandidate>, AardwarcError> {
        let mut entries = Vec::new();
        self.index.find(&[range_of(digits)], &mut |_, entry| {
            entries.push(entry);
            entries.len() < MAX_ID_CANDIDATES
        })?;
        let mut found = Vec::new();
        for entry in entries {
            if let Some(place) = self.place_of(&entry) {
                found.extend(self.candidate_at(digits, place, entry.next)?);
            }
        }
        Ok(found)
    }

    fn scanned_candidates(
        &self,
        scanned: &ScannedSilos,
        digits: &str,
    ) -> Result<Vec<AardwarcCandidate>, AardwarcError> {
        let mut found = Vec::new();
        for place in scanned.places(range_of(digits), MAX_ID_CANDIDATES)? {
            found.extend(self.candidate_at(digits, place, 0)?);
        }
        Ok(found)
    }

    /// The record at a place, if it has an id that the digits match.
    fn candidate_at(
        &self,
        digits: &str,
        place: SiloPlace,
        next: u32,
    ) -> Result<Option<AardwarcCandidate>, AardwarcError> {
        let Some(header) = self.header_at(place)? else { return Ok(None) };
        let id = header.record_id().map(digits_of).unwrap_or_default();
        let is_match = !id.is_empty() && (id.starts_with(digits) || digits.starts_with(&id));
        Ok(is_match.then_some(AardwarcCandidate { digits: id, header, place, next }))
    }

    fn header_at(&self, place: SiloPlace) -> Result<Option<RecordHeader>, AardwarcError> {
        let silo = &self.silos[place.silo() as usize];
        let file = silo.open().map_err(|source| silo.unread(source))?;
        match WarcReader::at(file, place.offset()).and_then(WarcReader::into_record) {
            Ok(record) => Ok(record.map(|record| record.header().clone())),
            Err(source @ Error::Io { .. }) => {
                Err(AardwarcError::Silo { path: silo.path().to_owned(), source })
            }
            Err(_) => Ok(None),
        }
    }

    /// The object of a record that the index found, with the segments that the index names.
    fn indexed_object(&self, candidate: AardwarcCandidate) -> Result<AardwarcObject, AardwarcError> {
        let mut segments = AardwarcSegments::default();
        let mut next = candidate.next;
        // Each segment begins a silo, so a longer chain is a damaged index.
        for _ in 0..self.silos.len() {
            if next == 0 {
                break;
            }
            next = self.note_next_segment(&candidate, next, &mut segments)?;
        }
        self.whole(&candidate, &segments)
    }

    /// Adds the segment of an object whose id begins with these bits. Returns the bits of the next.
    fn note_next_segment(
        &self,
        object: &AardwarcCandidate,
        next: u32,
        segments: &mut AardwarcSegments,
    ) -> Result<u32, AardwarcError> {
        let range = PrefixRange::leading(u64::from(next) << NEXT_SEGMENT_BITS, NEXT_SEGMENT_BITS);
        let mut entries = Vec::new();
        self.index.find(&[range], &mut |_, entry| {
            entries.push(entry);
            entries.len() < MAX_ID_CANDIDATES
        })?;
        let mut following = 0;
        for entry in entries {
            let Some(place) = self.place_of(&entry) else { continue };
            let Some(header) = self.header_at(place)? else { continue };
            if header.reference("WARC-Segment-Origin-ID") == object.header.record_id() {
                segments.note(&header, place.silo() as usize, place.offset());
                following = entry.next;
            }
        }
        Ok(following)
    }

    /// The object of a record, with all its segments.
    fn whole(
        &self,
        candidate: &AardwarcCandidate,
        segments: &AardwarcSegments,
    ) -> Result<AardwarcObject, AardwarcError> {
        let AardwarcCandidate { header, place, .. } = candidate;
        let first = (place.silo() as usize, place.offset());
        match segments.parts(&self.silos, header, first, &|_| false) {
            Ok(parts) => Ok(AardwarcObject::new(header.clone(), parts)),
            Err(why) => {
                let id = String::from_utf8_lossy(header.record_id().unwrap_or_default()).into_owned();
                let silo = self.silos[first.0].path().to_owned();
                Err(AardwarcError::NotWhole { id, silo, offset: first.1, why })
            }
        }
    }

    /// The index of all silos, which is made at the first call.
    fn scanned(&self) -> Result<&ScannedSilos, AardwarcError> {
        let _one = self.scanning.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scanned) = self.scanned.get() {
            return Ok(scanned);
        }
        let scanned = ScannedSilos::read(&self.silos, &*self.progress)?;
        Ok(self.scanned.get_or_init(|| scanned))
    }
}

/// The first candidate that is a complete object. Fails if the candidates have several ids.
fn choose(
    digits: &str,
    mut candidates: Vec<AardwarcCandidate>,
    complete: impl Fn(AardwarcCandidate) -> Result<AardwarcObject, AardwarcError>,
) -> Result<Option<AardwarcObject>, AardwarcError> {
    if candidates.iter().any(AardwarcCandidate::is_object) {
        candidates.retain(AardwarcCandidate::is_object);
    }
    let mut ids: Vec<&str> = candidates.iter().map(|candidate| candidate.digits.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() > 1 {
        return Err(AardwarcError::Ambiguous { digits: digits.to_owned(), count: ids.len() });
    }
    // An object may be stored twice, and only one copy be complete.
    let mut problem = None;
    for candidate in candidates {
        match complete(candidate) {
            Ok(object) => return Ok(Some(object)),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    problem.map_or(Ok(None), Err)
}

/// The index prefixes of ids that begin with these digits.
fn range_of(digits: &str) -> PrefixRange {
    PrefixRange::leading(prefix_of(digits).0, digits.len().min(16) as u32 * 4)
}
