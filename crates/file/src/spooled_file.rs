//! Bytes in memory and, if they are many, in a temporary file.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use crate::TemporaryFolder;

/// A file that begins in memory.
#[derive(Debug)]
pub struct SpooledFile {
    content: SpooledContent,
    max_memory: usize,
    /// `None` is the folder of the system for temporary files.
    folder: Option<TemporaryFolder>,
}

#[derive(Debug)]
enum SpooledContent {
    Memory(Cursor<Vec<u8>>),
    File(File),
}

impl SpooledFile {
    /// An empty file that moves to a file in `folder`, or in the folder of the system, when it exceeds
    /// `max_memory` bytes.
    pub fn new(max_memory: usize, folder: Option<TemporaryFolder>) -> Self {
        Self { content: SpooledContent::Memory(Cursor::default()), max_memory, folder }
    }

    /// Whether the bytes are in a file.
    pub fn is_in_file(&self) -> bool {
        matches!(self.content, SpooledContent::File(_))
    }

    /// Moves the bytes to a file if `more` of them would be too many for memory.
    fn make_room(&mut self, more: usize) -> io::Result<()> {
        let SpooledContent::Memory(memory) = &self.content else { return Ok(()) };
        let position = memory.position();
        if position.saturating_add(more as u64) <= self.max_memory as u64 {
            return Ok(());
        }
        let mut file = match &self.folder {
            Some(folder) => folder.unnamed_file()?,
            None => tempfile::tempfile()?,
        };
        file.write_all(memory.get_ref())?;
        file.seek(SeekFrom::Start(position))?;
        self.content = SpooledContent::File(file);
        Ok(())
    }
}

impl Write for SpooledFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.make_room(bytes.len())?;
        match &mut self.content {
            SpooledContent::Memory(memory) => memory.write(bytes),
            SpooledContent::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.content {
            SpooledContent::Memory(_) => Ok(()),
            SpooledContent::File(file) => file.flush(),
        }
    }
}

impl Read for SpooledFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            SpooledContent::Memory(memory) => memory.read(buffer),
            SpooledContent::File(file) => file.read(buffer),
        }
    }
}

impl Seek for SpooledFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match &mut self.content {
            SpooledContent::Memory(memory) => memory.seek(position),
            SpooledContent::File(file) => file.seek(position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_memory_and_from_a_file() {
        let place = tempfile::tempdir().unwrap();
        for (length, is_in_file) in [(10, false), (16, false), (17, true), (5000, true)] {
            let folder = TemporaryFolder::from(place.path());
            let mut file = SpooledFile::new(16, Some(folder));
            let bytes: Vec<u8> = (0..length).map(|number| number as u8).collect();
            bytes.chunks(7).for_each(|piece| file.write_all(piece).unwrap());
            file.rewind().unwrap();
            let mut found = Vec::new();
            file.read_to_end(&mut found).unwrap();
            assert_eq!((found == bytes, file.is_in_file()), (true, is_in_file), "{length}");
        }
    }
}
