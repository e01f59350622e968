//! Checks that the segments of large objects belong together.

use varve_core::RecordId;
use varve_warc::record::{RecordHeader, RecordType};

use super::{AuditFinding, AuditKind, AuditRun};
use crate::error::StoreError;
use crate::error::error_text;
use crate::index::SiloPlace;
use crate::record::parse_id;

/// The segment fields of a record.
#[derive(Clone, Debug)]
pub(crate) struct SegmentFacts {
    place: SiloPlace,
    /// The first segment's id.
    origin: Option<RecordId>,
    number: Option<u64>,
    is_first: bool,
    is_last: bool,
}

impl SegmentFacts {
    /// Reads the fields from a header; `None` when the record is not a segment.
    pub(super) fn of(header: &RecordHeader, place: SiloPlace) -> Option<Self> {
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

/// All segments seen, at most one per silo.
#[derive(Default)]
pub(crate) struct SegmentAudit {
    seen: Vec<SegmentFacts>,
}

impl SegmentAudit {
    pub(super) fn extend(&mut self, segments: Vec<SegmentFacts>) {
        self.seen.extend(segments);
    }

    /// Every first segment must lead to a complete object, and every later one must have its
    /// neighbours. With `whole`, objects are read in full; otherwise only the headers of their
    /// segments.
    pub(super) fn check(self, run: &mut AuditRun<'_>, whole: bool) {
        for segment in &self.seen {
            let Some(origin) = segment.origin else {
                run.report(finding(segment, "a segment that names no object", None));
                continue;
            };
            if segment.is_first {
                check_object(run, segment, &origin, whole);
            } else if let Err(error) = check_neighbours(run, segment, &origin) {
                run.report(finding(segment, &error_text(&error), Some(&origin)));
            }
        }
    }
}

/// Checks that a later segment has one before it and, unless it is the last, one after it.
fn check_neighbours(
    run: &mut AuditRun<'_>,
    segment: &SegmentFacts,
    origin: &RecordId,
) -> Result<(), StoreError> {
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

/// Whether a silo begins with segment `number` of an object.
fn is_there(
    run: &AuditRun<'_>,
    (silo, number): (Option<u32>, Option<u64>),
    origin: &RecordId,
) -> Result<bool, StoreError> {
    let (Some(silo), Some(number)) = (silo, number) else { return Ok(false) };
    let Some((place, header)) = run.store.first_record(silo)? else { return Ok(false) };
    let found = SegmentFacts::of(&header, place);
    Ok(found.is_some_and(|found| found.origin == Some(*origin) && found.number == Some(number)))
}

/// Finds all segments of an object and, with `whole`, reads and so verifies it.
fn check_object(run: &mut AuditRun<'_>, segment: &SegmentFacts, origin: &RecordId, whole: bool) {
    let problem = match run.store.object(origin) {
        Ok(Some(object)) if whole => {
            match object.read().map(|mut reader| std::io::copy(&mut reader, &mut std::io::sink())) {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(error_text(&error)),
                Err(error) => Some(error_text(&error)),
            }
        }
        Ok(Some(object)) => object.length_problem(),
        // The comparison with the index reports this.
        Ok(None) => None,
        Err(error) => Some(error_text(&error)),
    };
    if let Some(problem) = problem {
        run.report(finding(segment, &problem, Some(origin)));
    }
}

fn finding(segment: &SegmentFacts, message: &str, origin: Option<&RecordId>) -> AuditFinding {
    let id = origin.map(RecordId::to_string);
    AuditFinding::new(AuditKind::Segment, message)
        .at(segment.place.silo(), segment.place.offset())
        .of(id.as_deref().map(str::as_bytes))
}
