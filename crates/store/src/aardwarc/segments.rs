//! The segments of AardWARC objects.
//!
//! Every segment begins a silo of its own, so there are at most as many as silos, and they fit in
//! memory.

use std::collections::{HashMap, HashSet};

use varve_warc::record::{RecordHeader, RecordType};

use super::folder::AardwarcSilo;
use super::object::AardwarcPart;

/// A segment that is not the first of its object.
struct ContinuationRecord {
    silo: usize,
    offset: u64,
    length: u64,
    /// The length of the object, on its last segment.
    total: Option<u64>,
}

/// The places of segments, by the first segment's id and the segment number.
#[derive(Default)]
pub(super) struct AardwarcSegments(HashMap<(Vec<u8>, u64), ContinuationRecord>);

impl AardwarcSegments {
    /// Adds a record if it is a continuation.
    pub(super) fn note(&mut self, header: &RecordHeader, silo: usize, offset: u64) {
        if header.record_type() == RecordType::Continuation
            && let Some(origin) = header.reference("WARC-Segment-Origin-ID")
            && let Some(segment) = number_in(header, "WARC-Segment-Number")
        {
            let length = header.content_length().unwrap_or(0);
            let total = number_in(header, "WARC-Segment-Total-Length");
            self.0.insert((origin.to_vec(), segment), ContinuationRecord { silo, offset, length, total });
        }
    }

    /// The segments of none of these objects: silo, offset, stated object id and number.
    pub(super) fn without(&self, objects: &HashSet<Vec<u8>>) -> Vec<(usize, u64, &[u8], u64)> {
        let orphans = self.0.iter().filter(|((origin, _), _)| !objects.contains(origin));
        let mut orphans: Vec<_> = orphans
            .map(|((origin, number), segment)| (segment.silo, segment.offset, origin.as_slice(), *number))
            .collect();
        orphans.sort_unstable();
        orphans
    }

    /// The parts of an object if all are present and intact, else why not.
    pub(super) fn parts(
        &self,
        silos: &[AardwarcSilo],
        header: &RecordHeader,
        first: (usize, u64),
        is_damaged: &dyn Fn((usize, u64)) -> bool,
    ) -> Result<Vec<AardwarcPart>, String> {
        let length = header.content_length().unwrap_or(0);
        let mut parts = vec![AardwarcPart { silo: silos[first.0].clone(), offset: first.1, length }];
        if is_damaged(first) {
            return Err("its record is damaged".to_owned());
        }
        // A continuation asked for by its own id is itself and no more.
        if !header.is_segment() || header.record_type() == RecordType::Continuation {
            return Ok(parts);
        }
        let id = header.record_id().unwrap_or_default().to_vec();
        let (mut sum, mut number) = (length, 2);
        loop {
            let segment = self.0.get(&(id.clone(), number));
            let segment = segment.ok_or_else(|| format!("its segment {number} is missing"))?;
            if is_damaged((segment.silo, segment.offset)) {
                return Err(format!("its segment {number} is damaged"));
            }
            let (silo, offset, length) = (silos[segment.silo].clone(), segment.offset, segment.length);
            parts.push(AardwarcPart { silo, offset, length });
            sum = sum.saturating_add(segment.length);
            match segment.total {
                Some(total) if total == sum => return Ok(parts),
                Some(total) => return Err(format!("its segments have {sum} bytes, and it has {total}")),
                None => number += 1,
            }
        }
    }
}

fn number_in(header: &RecordHeader, name: &str) -> Option<u64> {
    std::str::from_utf8(header.fields.get(name)?).ok()?.parse().ok()
}
