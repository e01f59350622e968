//! Do the segments of large objects fit together?

use varve_warc::record::{Header, RecordType};

use super::{AuditFinding, AuditKind, Run};
use crate::error::StoreError;
use crate::index::Place;
use crate::silo::parse_id;

/// What a record says about the object it is a part of.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    place: Place,
    /// The first segment's id.
    origin: Option<[u8; 32]>,
    number: Option<u64>,
    is_first: bool,
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

    /// Every first segment must lead to a whole object, every later one must belong to one.
    pub(super) fn check(self, run: &mut Run<'_>) -> Result<(), StoreError> {
        for segment in &self.seen {
            let Some(origin) = segment.origin else {
                run.report(finding(segment, "a segment that names no object", None));
                continue;
            };
            if segment.is_first {
                check_object(run, segment, &origin)?;
            } else if !self.has_predecessor(segment) {
                let number = segment.number.unwrap_or(0);
                run.report(finding(
                    segment,
                    &format!("segment {number} without the one before it"),
                    Some(&origin),
                ));
            }
        }
        Ok(())
    }

    fn has_predecessor(&self, segment: &Segment) -> bool {
        let wanted = segment.number.and_then(|number| number.checked_sub(1));
        let silo = segment.place.silo().checked_sub(1);
        self.seen.iter().any(|other| {
            other.origin == segment.origin && other.number == wanted && Some(other.place.silo()) == silo
        })
    }
}

/// Reads the whole object, which checks it; in a quick audit, only the headers of its segments.
fn check_object(run: &mut Run<'_>, segment: &Segment, origin: &[u8; 32]) -> Result<(), StoreError> {
    let problem = match run.store.object(origin) {
        Ok(Some(_)) if run.options.quick => None,
        Ok(Some(object)) => {
            match object.read().map(|mut reader| std::io::copy(&mut reader, &mut std::io::sink())) {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(error) => Some(error.to_string()),
            }
        }
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
