//! Which segments belong together.
//!
//! Every segment begins a silo of its own, so there are never more of them than silos: they are held in memory.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use varve_warc::record::{Header, RecordType};

use super::object::Part;

/// A segment that is not the first of its object.
struct Segment {
    silo: usize,
    offset: u64,
    length: u64,
    /// The length of the object, on its last segment.
    total: Option<u64>,
}

/// Where segments lie: by the first segment's id and the segment's number.
#[derive(Default)]
pub(super) struct Segments(HashMap<(Vec<u8>, u64), Segment>);

impl Segments {
    /// Remembers a record if it is such a segment.
    pub(super) fn note(&mut self, header: &Header, silo: usize, offset: u64) {
        if header.record_type() == RecordType::Continuation
            && let Some(origin) = header.reference("WARC-Segment-Origin-ID")
            && let Some(segment) = number_in(header, "WARC-Segment-Number")
        {
            let length = header.content_length().unwrap_or(0);
            let total = number_in(header, "WARC-Segment-Total-Length");
            self.0.insert((origin.to_vec(), segment), Segment { silo, offset, length, total });
        }
    }

    /// The segments whose object is none of these: where each lies, the id it names and its number.
    pub(super) fn without(&self, objects: &HashSet<Vec<u8>>) -> Vec<(usize, u64, &[u8], u64)> {
        let orphans = self.0.iter().filter(|((origin, _), _)| !objects.contains(origin));
        let mut orphans: Vec<_> = orphans
            .map(|((origin, number), segment)| (segment.silo, segment.offset, origin.as_slice(), *number))
            .collect();
        orphans.sort_unstable();
        orphans
    }

    /// Where the pieces of an object lie, if all are there and none is damaged; else why not.
    pub(super) fn parts(
        &self,
        silos: &[PathBuf],
        header: &Header,
        first: (usize, u64),
        is_damaged: &dyn Fn((usize, u64)) -> bool,
    ) -> Result<Vec<Part>, String> {
        let length = header.content_length().unwrap_or(0);
        let mut parts = vec![Part { silo: silos[first.0].clone(), offset: first.1, length }];
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
            parts.push(Part { silo, offset, length });
            sum = sum.saturating_add(segment.length);
            match segment.total {
                Some(total) if total == sum => return Ok(parts),
                Some(total) => return Err(format!("its segments have {sum} bytes, and it has {total}")),
                None => number += 1,
            }
        }
    }
}

fn number_in(header: &Header, name: &str) -> Option<u64> {
    std::str::from_utf8(header.fields.get(name)?).ok()?.parse().ok()
}
