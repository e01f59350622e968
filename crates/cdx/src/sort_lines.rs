//! Sorts lines by their bytes in a fixed amount of memory. Lines that do not fit are written to
//! temporary files in sorted runs, which are merged while they are read. A line that occurs several
//! times is given once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};

use varve_file::TemporaryFolder;

/// Lines are written to a file when they take this much memory.
const MAX_MEMORY_BYTES: usize = 64 << 20;
/// Maximum number of files that are merged at once.
const MAX_RUNS: usize = 64;
/// Memory of a line besides its bytes.
const LINE_OVERHEAD_BYTES: usize = size_of::<(usize, usize)>();

/// Collects lines to be sorted.
pub struct LineSorter {
    max_memory: usize,
    /// `None` is the folder of the system for temporary files.
    folder: Option<TemporaryFolder>,
    bytes: Vec<u8>,
    /// Begin and end of each line in `bytes`.
    lines: Vec<(usize, usize)>,
    runs: Vec<File>,
}

impl LineSorter {
    /// A sorter that uses temporary files in `folder`, or in the folder of the system.
    pub fn new(folder: Option<TemporaryFolder>) -> Self {
        Self { max_memory: MAX_MEMORY_BYTES, folder, bytes: Vec::new(), lines: Vec::new(), runs: Vec::new() }
    }

    /// The same sorter with another limit of memory.
    #[must_use]
    pub fn with_memory(self, max_memory: usize) -> Self {
        Self { max_memory, ..self }
    }

    /// Adds a line that `write` appends, without a line end. The line must not contain one.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let begin = self.bytes.len();
        write(&mut self.bytes);
        self.lines.push((begin, self.bytes.len()));
        if self.bytes.len() + self.lines.len() * LINE_OVERHEAD_BYTES > self.max_memory {
            self.spill()?;
        }
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.lines.sort_unstable_by(|one, other| bytes[one.0..one.1].cmp(&bytes[other.0..other.1]));
        self.lines.dedup_by(|one, other| bytes[one.0..one.1] == bytes[other.0..other.1]);
    }

    fn temporary_file(&self) -> io::Result<File> {
        match &self.folder {
            Some(folder) => folder.unnamed_file(),
            None => tempfile::tempfile(),
        }
    }

    /// Writes the lines in memory to a file.
    fn spill(&mut self) -> io::Result<()> {
        self.sort();
        let mut output = BufWriter::new(self.temporary_file()?);
        for (begin, end) in &self.lines {
            output.write_all(&self.bytes[*begin..*end])?;
            output.write_all(b"\n")?;
        }
        self.bytes.clear();
        self.lines.clear();
        self.runs.push(finish_run(output)?);
        if self.runs.len() >= MAX_RUNS {
            let runs = std::mem::take(&mut self.runs);
            let mut merged = Merge::new(runs)?;
            let mut output = BufWriter::new(self.temporary_file()?);
            let mut line = Vec::new();
            while merged.next_line(&mut line)? {
                output.write_all(&line)?;
                output.write_all(b"\n")?;
            }
            self.runs.push(finish_run(output)?);
        }
        Ok(())
    }

    /// All lines in order.
    pub fn finish(mut self) -> io::Result<SortedLines> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(SortedLines(Source::Memory { bytes: self.bytes, lines: self.lines.into_iter() }));
        }
        self.spill()?;
        Ok(SortedLines(Source::Runs(Merge::new(self.runs)?)))
    }
}

fn finish_run(output: BufWriter<File>) -> io::Result<File> {
    let mut file = output.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Lines in order.
pub struct SortedLines(Source);

enum Source {
    Memory { bytes: Vec<u8>, lines: std::vec::IntoIter<(usize, usize)> },
    Runs(Merge),
}

impl SortedLines {
    /// Replaces the content of `line` with the next line. Returns false at the end.
    pub fn next_line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        match &mut self.0 {
            Source::Memory { bytes, lines } => {
                let Some((begin, end)) = lines.next() else { return Ok(false) };
                line.clear();
                line.extend_from_slice(&bytes[begin..end]);
                Ok(true)
            }
            Source::Runs(merge) => merge.next_line(line),
        }
    }
}

/// Sorted files, merged.
struct Merge {
    runs: Vec<BufReader<File>>,
    /// The next line of each file that has one.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    last: Option<Vec<u8>>,
}

impl Merge {
    fn new(files: Vec<File>) -> io::Result<Self> {
        let runs = files.into_iter().map(BufReader::new).collect();
        let mut merge = Self { runs, heads: BinaryHeap::new(), last: None };
        for number in 0..merge.runs.len() {
            merge.refill(number, Vec::new())?;
        }
        Ok(merge)
    }

    fn refill(&mut self, number: usize, mut line: Vec<u8>) -> io::Result<()> {
        line.clear();
        if self.runs[number].read_until(b'\n', &mut line)? > 0 {
            line.pop();
            self.heads.push(Reverse((line, number)));
        }
        Ok(())
    }

    fn next_line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            let Some(Reverse((next, number))) = self.heads.pop() else { return Ok(false) };
            if self.last.as_ref() == Some(&next) {
                self.refill(number, next)?;
                continue;
            }
            line.clear();
            line.extend_from_slice(&next);
            let spare = self.last.replace(next).unwrap_or_default();
            self.refill(number, spare)?;
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(lines: &[Vec<u8>], memory: usize) -> Vec<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = LineSorter::new(Some(TemporaryFolder::from(folder.path()))).with_memory(memory);
        for line in lines {
            sorter.push(|bytes| bytes.extend_from_slice(line)).unwrap();
        }
        let mut sorted = sorter.finish().unwrap();
        let (mut found, mut line) = (Vec::new(), Vec::new());
        while sorted.next_line(&mut line).unwrap() {
            found.push(line.clone());
        }
        found
    }

    proptest! {
        #[test]
        fn memory_does_not_change_the_order(lines in proptest::collection::vec("[a-c ]{0,4}", 0..200)) {
            let lines: Vec<Vec<u8>> = lines.into_iter().map(String::into_bytes).collect();
            let mut expected = lines.clone();
            expected.sort();
            expected.dedup();
            // One run, several, and more than are merged at once.
            for memory in [usize::MAX, 500, 1] {
                prop_assert_eq!(&sorted(&lines, memory), &expected);
            }
        }
    }
}
