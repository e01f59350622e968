//! Do the segments of large objects fit together?

use varve_warc::record::{Header, RecordType};

use super::{AuditFinding, AuditKind, Run};
use crate::error::StoreError;
use crate::index::Place;
use crate::record::parse_id;

/// What a record says about the object it is a part of.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    place: Place,
    /// The first segment's id.
    origin: Option<[u8; 32]>,
    number: Option<u64>,
    is_first: bool,
    is_last: bool,
}

impl Segment {
    /// Reads it from a header; none when the record is whole in itself.
    pub(super) fn of(header: &Header, place: Place) -> Option<Self> {
        let is_continuation = header.record_type() == RecordType::Continuation;
        if !header.is_segment() && !is_continuation {
            return None;
        }
        let text = header.fields.get("WARC-Segment-Number").and_then(|text| std::str::from_utf8(text).ok());
        let origin =
            if is_continuation { header.reference("WARC-Segment-Origin-ID") } else { header.record_id() };
        Some(Self {
            place,
            origin: origin.and_then(parse_id),
            number: text.and_then(|text| text.parse().ok()),
            is_first: !is_continuation,
            is_last: header.fields.get("WARC-Segment-Total-Length").is_some(),
        })
    }
}

/// All segments that were seen: as many as there are silos, or fewer.
#[derive(Default)]
pub(crate) struct Segments {
    seen: Vec<Segment>,
}

impl Segments {
    pub(super) fn extend(&mut self, segments: Vec<Segment>) {
        self.seen.extend(segments);
    }

    /// Every first segment must lead to a whole object, every later one must have its neighbours. Whole objects are read
    /// where all silos are: an audit of some silos looks at the headers of an object's other segments, and no further.
    pub(super) fn check(self, run: &mut Run<'_>, whole: bool) -> Result<(), StoreError> {
        for segment in &self.seen {
            let Some(origin) = segment.origin else {
                run.report(finding(segment, "a segment that names no object", None));
                continue;
            };
            if segment.is_first {
                check_object(run, segment, &origin, whole)?;
            } else {
                check_neighbours(run, segment, &origin)?;
            }
        }
        Ok(())
    }
}

/// A segment that is not the first has another before it, and one behind it unless it is the last.
fn check_neighbours(run: &mut Run<'_>, segment: &Segment, origin: &[u8; 32]) -> Result<(), StoreError> {
    let (silo, number) = (segment.place.silo(), segment.number.unwrap_or(0));
    let before = (silo.checked_sub(1), number.checked_sub(1));
    if !is_there(run, before, origin)? {
        let message = format!("segment {number} without the one before it");
        run.report(finding(segment, &message, Some(origin)));
    }
    if !segment.is_last && !is_there(run, (silo.checked_add(1), number.checked_add(1)), origin)? {
        let message = format!("segment {number} without the one behind it");
        run.report(finding(segment, &message, Some(origin)));
    }
    Ok(())
}

/// Whether a silo begins with the segment of that number of an object.
fn is_there(
    run: &Run<'_>,
    (silo, number): (Option<u32>, Option<u64>),
    origin: &[u8; 32],
) -> Result<bool, StoreError> {
    let (Some(silo), Some(number)) = (silo, number) else { return Ok(false) };
    let Some((place, header)) = run.store.first_record(silo)? else { return Ok(false) };
    let found = Segment::of(&header, place);
    Ok(found.is_some_and(|found| found.origin == Some(*origin) && found.number == Some(number)))
}

/// Finds all segments of an object, and reads it where that is wanted, which checks it.
fn check_object(
    run: &mut Run<'_>,
    segment: &Segment,
    origin: &[u8; 32],
    whole: bool,
) -> Result<(), StoreError> {
    let problem = match run.store.object(origin) {
        Ok(Some(object)) if whole => {
            match object.read().map(|mut reader| std::io::copy(&mut reader, &mut std::io::sink())) {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(error) => Some(error.to_string()),
            }
        }
        Ok(Some(object)) => object.length_problem(),
        // The index says where it is, and is compared elsewhere.
        Ok(None) => None,
        Err(error @ StoreError::SegmentMissing { .. }) => Some(error.to_string()),
        Err(error) => return Err(error),
    };
    if let Some(problem) = problem {
        run.report(finding(segment, &problem, Some(origin)));
    }
    Ok(())
}

fn finding(segment: &Segment, message: &str, origin: Option<&[u8; 32]>) -> AuditFinding {
    let id = origin.map(|origin| format!("urn:sha256:{}", data_encoding::HEXLOWER.encode(origin)));
    AuditFinding::new(AuditKind::Segment, message)
        .at(segment.place.silo(), segment.place.offset())
        .of(id.as_deref().map(str::as_bytes))
}
