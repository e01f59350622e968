//! The records of each run, for any number of runs and records.
//!
//! A seal covers the records of a run in sorted order, which is not their order in the silos. So
//! they are sorted: in memory up to a limit, and beyond it in temporary files that are merged at
//! the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use uuid::Uuid;
use varve_core::{RecordId, RunId};

/// Maximum number of entries in memory: 12 MB.
const MAX_HELD_RECORDS: usize = 1 << 18;
/// Size of an entry: a run id and a record id, as bytes that sort in this order.
const ENTRY_BYTES: usize = 48;

type Pair = [u8; ENTRY_BYTES];

/// The records of all runs.
pub(super) struct RunRecords {
    held: Vec<Pair>,
    most_held: usize,
    /// Files with entries; each file is sorted.
    spilled: Vec<File>,
}

impl Default for RunRecords {
    fn default() -> Self {
        Self { held: Vec::new(), most_held: MAX_HELD_RECORDS, spilled: Vec::new() }
    }
}

impl RunRecords {
    /// Adds a record of a run.
    pub(super) fn add(&mut self, run: RunId, record: RecordId) -> io::Result<()> {
        let mut pair = [0; ENTRY_BYTES];
        pair[..16].copy_from_slice(run.as_bytes());
        pair[16..].copy_from_slice(record.as_bytes());
        self.held.push(pair);
        if self.held.len() < self.most_held {
            return Ok(());
        }
        self.held.sort_unstable();
        let mut file = BufWriter::new(tempfile::tempfile()?);
        for pair in self.held.drain(..) {
            file.write_all(&pair)?;
        }
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.spilled.push(file);
        Ok(())
    }

    /// Calls `visit` for all records, run by run, and in sorted order within each run.
    pub(super) fn each(mut self, visit: &mut dyn FnMut(RunId, RecordId)) -> io::Result<()> {
        self.held.sort_unstable();
        let mut sources: Vec<Box<dyn Read>> = vec![Box::new(io::Cursor::new(self.held.concat()))];
        drop(std::mem::take(&mut self.held));
        sources.extend(self.spilled.into_iter().map(|file| Box::new(BufReader::new(file)) as Box<dyn Read>));
        let mut next = BinaryHeap::new();
        for (number, source) in sources.iter_mut().enumerate() {
            next.extend(read_pair(source)?.map(|pair| Reverse((pair, number))));
        }
        while let Some(Reverse((pair, number))) = next.pop() {
            let (run, record) = pair.split_at(16);
            let record: [u8; 32] = record.try_into().unwrap_or_default();
            visit(RunId::new(Uuid::from_bytes(run.try_into().unwrap_or_default())), RecordId::new(record));
            next.extend(read_pair(&mut sources[number])?.map(|pair| Reverse((pair, number))));
        }
        Ok(())
    }
}

fn read_pair(source: &mut impl Read) -> io::Result<Option<Pair>> {
    let mut pair = [0; ENTRY_BYTES];
    match source.read_exact(&mut pair) {
        Ok(()) => Ok(Some(pair)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_run_by_run_and_in_order_however_few_are_held() {
        let mut expected: Vec<(RunId, RecordId)> = Vec::new();
        let mut records = RunRecords { most_held: 7, ..RunRecords::default() };
        for number in 0_u32..100 {
            let mixed = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
            let mut record = [0; 32];
            record[..4].copy_from_slice(&mixed);
            let pair = (RunId::new(Uuid::from_bytes([(number % 5) as u8; 16])), RecordId::new(record));
            records.add(pair.0, pair.1).expect("room");
            expected.push(pair);
        }
        assert!(records.spilled.len() > 10);
        expected.sort_unstable_by_key(|(run, record)| (*run.as_bytes(), *record.as_bytes()));
        let mut seen = Vec::new();
        records.each(&mut |run, record| seen.push((run, record))).expect("read");
        assert_eq!(seen, expected);
    }
}
