//! Reading zstd frames, and the dictionary that a file may begin with.

use std::io;
use std::sync::Arc;

use super::zstd::{self, FrameDecoder};
use super::{
    Access, Dictionary, FileDecoders, MAX_WHOLE_BYTES, MemberReader, MemberStage, STREAM_CHUNK_BYTES,
};
use crate::rules::Rule;
use varve_wire::ReadAt;

/// A frame of more blocks is streamed. Writers other than this crate's fill their blocks.
const MAX_WHOLE_BLOCKS: usize = 512;
/// Content up to this size is decompressed even when only a header may be wanted: starting a stream
/// costs as much.
const MAX_RANDOM_WHOLE_BYTES: usize = 256 << 10;
/// Maximum number of packed bytes that are brought into view to decompress a frame in one pass.
const MAX_FRAME_VIEW_BYTES: usize = 4 << 20;

/// The dictionary that a zstd file begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FileDictionary {
    /// There is none.
    #[default]
    Absent,
    /// There is one that cannot be used.
    Unusable,
    /// There is one with this id; 0 when it has no id.
    Usable(u32),
}

/// What the reader remembers of zstd frames.
#[derive(Default)]
pub(super) struct ZstdState {
    dictionary: FileDictionary,
    /// It was reported that frames need another dictionary.
    reported_dictionary: bool,
    /// It was reported that a frame has no content size or no checksum.
    reported_unchecked: bool,
    /// A damaged frame is read again in small steps.
    careful: bool,
    /// Decompressed bytes of that frame that were given out before.
    given_before: u64,
}

impl ZstdState {
    /// Drops the state of the frames that were read. What is known of the file stays.
    pub(super) fn restart(&mut self) {
        *self = Self { dictionary: self.dictionary, ..Self::default() };
    }
}

/// A dictionary that is ready for use, and known to later readers of the file.
fn prepare_dictionary(stored: &[u8], shared: Option<&FileDecoders>) -> io::Result<Arc<Dictionary>> {
    let dictionary = match shared {
        Some(shared) => shared.remember_dictionary(stored),
        None => Arc::new(Dictionary::new(stored.to_vec())),
    };
    dictionary.id()?;
    Ok(dictionary)
}

impl<S: ReadAt> MemberReader<S> {
    /// Gets a frame decoder: a ready one that readers of the file share, or a new one with the
    /// file's dictionary.
    pub(super) fn prepare_zstd(&mut self) -> io::Result<()> {
        self.output.set_next_chunk(STREAM_CHUNK_BYTES);
        let shared = FileDecoders::of(self.salvage.window.source());
        if let Some(ready) = shared.as_ref().and_then(FileDecoders::take) {
            self.zstd.dictionary =
                ready.dictionary_id().map_or(FileDictionary::Absent, FileDictionary::Usable);
            (self.salvage.frame_decoder, self.salvage.shared_decoders) = (Some(ready), shared);
            return Ok(());
        }
        let dictionary = match shared.as_ref().and_then(FileDecoders::dictionary) {
            Some(known) if known.id().is_ok() => Some(known),
            _ => self.read_dictionary(shared.as_ref())?,
        };
        self.salvage.shared_decoders = shared.filter(|_| dictionary.is_some());
        let decoder = FrameDecoder::new(dictionary)?;
        if let Some(id) = decoder.dictionary_id() {
            self.zstd.dictionary = FileDictionary::Usable(id);
        }
        self.salvage.frame_decoder = Some(decoder);
        Ok(())
    }

    /// The dictionary at the start of the file, even when reading starts elsewhere. An unusable one
    /// is reported and counts as none.
    fn read_dictionary(&mut self, shared: Option<&FileDecoders>) -> io::Result<Option<Arc<Dictionary>>> {
        let here = self.salvage.window.position();
        self.salvage.window.seek(0);
        let found = self.dictionary_at_start(shared)?;
        self.salvage.window.seek(here);
        self.zstd.dictionary = FileDictionary::Absent;
        Ok(found.unwrap_or_else(|why| {
            self.zstd.dictionary = FileDictionary::Unusable;
            self.salvage.report(Rule::DictionaryUnusable, 0, why);
            None
        }))
    }

    /// The dictionary that the file begins with, if it does; or why it cannot be used.
    fn dictionary_at_start(
        &mut self,
        shared: Option<&FileDecoders>,
    ) -> io::Result<Result<Option<Arc<Dictionary>>, String>> {
        let window = &mut self.salvage.window;
        let view = window.fill(8)?;
        let is_dictionary = view.starts_with(&zstd::DICTIONARY_MAGIC);
        let Some(length) = zstd::skippable_length(view).filter(|_| is_dictionary) else {
            return Ok(Ok(None));
        };
        if length > (zstd::MAX_DICTIONARY_BYTES + 8) as u64 {
            return Ok(Err("the zstd dictionary is larger than 8 MiB".to_owned()));
        }
        let frame = window.fill(length as usize)?;
        let Some(stored) = frame.get(8..length as usize) else {
            return Ok(Err("the zstd dictionary is cut short".to_owned()));
        };
        let dictionary = prepare_dictionary(stored, shared).map(Some);
        Ok(dictionary.map_err(|error| format!("the zstd dictionary cannot be read: {error}")))
    }

    pub(super) fn begin_zstd(&mut self) -> io::Result<bool> {
        if !self.find_frame()? {
            return Ok(false);
        }
        self.member.offset = self.salvage.window.position();
        if !self.zstd.reported_unchecked && !zstd::is_checked(self.salvage.window.bytes()) {
            self.zstd.reported_unchecked = true;
            let message = "a zstd frame gives no content size or no checksum (said once for this file)";
            self.salvage.report(Rule::FrameUnchecked, self.member.offset, message);
        }
        if let Some((rule, why)) = self.frame_objection() {
            self.refuse_frame(rule, why)?;
            return Ok(true);
        }
        self.zstd.careful = false;
        self.zstd.given_before = 0;
        if self.decode_whole_frame()? {
            return Ok(true);
        }
        if let Some(decoder) = &mut self.salvage.frame_decoder {
            decoder.reset()?;
        }
        self.stage = MemberStage::Zstd;
        Ok(true)
    }

    /// Decompresses a frame that is not large in one pass. Returns false when it is large or
    /// damaged; it is then streamed.
    fn decode_whole_frame(&mut self) -> io::Result<bool> {
        let content =
            zstd::content_size(self.salvage.window.bytes()).and_then(|size| usize::try_from(size).ok());
        let limit = if self.access == Access::Random { MAX_RANDOM_WHOLE_BYTES } else { MAX_WHOLE_BYTES };
        let Some(content) = content.filter(|content| *content <= limit) else { return Ok(false) };
        let Some(length) = self.fill_frame()? else { return Ok(false) };
        self.output.reserve_without_content(content);
        let Some(decoder) = &mut self.salvage.frame_decoder else { return Ok(false) };
        let frame = &self.salvage.window.bytes()[..length];
        let Some(given) = decoder.decode_whole(frame, &mut self.output.bytes[..content]) else {
            return Ok(false);
        };
        self.salvage.window.consume(length);
        self.output.end = given;
        self.member.given = given as u64;
        self.stage = MemberStage::Whole;
        Ok(true)
    }

    /// Brings all of a frame into view and returns its length.
    fn fill_frame(&mut self) -> io::Result<Option<usize>> {
        let window = &mut self.salvage.window;
        let Some((mut end, has_checksum)) = zstd::header_length(window.bytes()) else { return Ok(None) };
        for _ in 0..MAX_WHOLE_BLOCKS {
            let header = window.fill(end + 3)?.get(end..).and_then(|rest| rest.first_chunk().copied());
            let Some(block) = header.and_then(zstd::parse_block) else { return Ok(None) };
            end += 3 + block.length as usize;
            if end > MAX_FRAME_VIEW_BYTES {
                return Ok(None);
            }
            if block.is_last {
                end += if has_checksum { 4 } else { 0 };
                return Ok((window.fill(end)?.len() >= end).then_some(end));
            }
        }
        Ok(None)
    }

    /// Why the frame cannot be decompressed, by its header.
    fn frame_objection(&mut self) -> Option<(Rule, String)> {
        if let Some(message) = self.missing_dictionary() {
            return Some((Rule::MemberDamaged, message));
        }
        let limit = zstd::MAX_WINDOW_BYTES;
        let window = zstd::window_size(self.salvage.window.bytes()).filter(|window| *window > limit)?;
        let message = format!(
            "a zstd frame needs a window of {window} bytes; a reader need not give it more than {limit}"
        );
        Some((Rule::WindowTooLarge, message))
    }

    /// Skips a frame that cannot be decompressed. Its blocks give their lengths, so the next frame
    /// is found without decompressing anything.
    fn refuse_frame(&mut self, rule: Rule, why: String) -> io::Result<()> {
        let end = match self.salvage.frame_extent(self.member.offset, 0)? {
            Ok(frame) => frame.end,
            Err(lost) => {
                self.salvage.window.seek(lost);
                return self.fail_member(rule, &why);
            }
        };
        self.salvage.report(rule, self.member.offset, why);
        self.salvage.window.seek(end);
        self.leave_failed();
        self.salvage.keep_strays_from(self.member.offset)
    }

    /// The message about a frame that needs another dictionary than the file's. One finding for the
    /// whole file is reported in addition.
    fn missing_dictionary(&mut self) -> Option<String> {
        let id = zstd::wanted_dictionary(self.salvage.window.bytes())?;
        let why = match self.zstd.dictionary {
            FileDictionary::Usable(held) if held == id => return None,
            FileDictionary::Unusable => "and that of the file cannot be used",
            FileDictionary::Absent | FileDictionary::Usable(_) => "which the file does not hold",
        };
        if !self.zstd.reported_dictionary {
            self.zstd.reported_dictionary = true;
            let message = format!("frames need the zstd dictionary {id}, {why}");
            self.salvage.report(Rule::DictionaryMissing, self.member.offset, message);
        }
        Some(format!("a zstd frame needs the dictionary {id}, {why}"))
    }

    /// Skips skippable frames and junk.
    fn find_frame(&mut self) -> io::Result<bool> {
        loop {
            let from = self.salvage.window.position();
            let view = self.salvage.window.fill(zstd::MAX_FRAME_HEADER_BYTES)?;
            if view.is_empty() {
                return Ok(false);
            }
            if view.starts_with(&zstd::FRAME_MAGIC) {
                return Ok(true);
            }
            let Some(length) = zstd::skippable_length(view) else {
                let found = self.salvage.search(from, u64::MAX)?;
                self.salvage.report_junk(from, "zstd frame")?;
                return Ok(found);
            };
            if from > 0 && view.starts_with(&zstd::DICTIONARY_MAGIC) {
                let message = "a zstd dictionary that is not at the start of the file";
                self.salvage.report(Rule::DictionaryUnusable, from, message);
            }
            let left = self.salvage.window.left(length)?;
            self.salvage.window.seek(from + left);
            if left < length {
                let message = "the file ends inside a skippable zstd frame";
                self.salvage.report(Rule::MemberCut, from, message);
                return Ok(false);
            }
        }
    }

    pub(super) fn decode_more(&mut self) -> io::Result<bool> {
        self.output.make_room();
        let packed = self.salvage.window.fill(1)?;
        let at_end = packed.is_empty();
        let Some(decoder) = &mut self.salvage.frame_decoder else { return Ok(false) };
        let packed = if self.zstd.careful { &packed[..packed.len().min(1)] } else { packed };
        let end = self.output.end;
        match decoder.step(packed, &mut self.output.bytes[end..end + STREAM_CHUNK_BYTES]) {
            Ok((taken, given, ended)) => {
                self.salvage.window.consume(taken);
                self.accept_decoded(given);
                if ended {
                    self.stage = MemberStage::Outside;
                } else if at_end && given == 0 {
                    self.cut_member()?;
                }
                Ok(given > 0 || (!ended && !at_end))
            }
            Err(_) if !self.zstd.careful => {
                self.restart_frame()?;
                Ok(true)
            }
            Err(error) => {
                self.fail_frame(&error)?;
                Ok(false)
            }
        }
    }

    fn fail_frame(&mut self, error: &io::Error) -> io::Result<()> {
        // The rest of the decoder's message depends on the frames it had before.
        let what = if error.to_string().contains("checksum") {
            // The last byte of the frame showed it.
            self.salvage.window.consume(1);
            "the checksum of a zstd frame is wrong"
        } else if self.zstd.dictionary == FileDictionary::Unusable {
            "a zstd frame is damaged, or needs the dictionary of the file, which cannot be used"
        } else {
            "a zstd frame is damaged"
        };
        let message = format!("{what}, {} bytes of it could be read", self.member.given);
        self.fail_member(Rule::MemberDamaged, &message)
    }

    /// Takes `given` bytes after the buffered ones, without those that were given out before.
    fn accept_decoded(&mut self, given: usize) {
        if given > 0 {
            self.member.given_until = self.salvage.window.position();
        }
        let known = usize::try_from(self.zstd.given_before).unwrap_or(usize::MAX).min(given);
        let end = self.output.end;
        self.output.bytes.copy_within(end + known..end + given, end);
        self.zstd.given_before -= known as u64;
        self.output.end += given - known;
        self.member.given += (given - known) as u64;
    }

    /// Reads a damaged frame again in small steps. A failing step gives nothing, even if it had
    /// decompressed sound bytes before; a small one never decompresses both sound and damaged
    /// bytes.
    fn restart_frame(&mut self) -> io::Result<()> {
        self.zstd.careful = true;
        self.zstd.given_before = self.member.given;
        self.salvage.window.seek(self.member.offset);
        match &mut self.salvage.frame_decoder {
            Some(decoder) => decoder.reset(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ::zstd::bulk;

    use super::*;

    #[test]
    fn a_frame_with_a_wrong_content_size_gets_no_more_room() {
        let noise: Vec<u8> =
            (0..1_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 | 1).collect();
        let mut frame = bulk::compress(&noise, 1).expect("memory");
        let declared = 200_000_u32;
        assert_eq!(frame[4] >> 5, 4, "a window, four bytes of length");
        frame[6..10].copy_from_slice(&declared.to_le_bytes());
        let mut reader = MemberReader::new(frame.as_slice(), 0, Access::Sequential).expect("memory");
        reader.output.bytes = vec![0; 2_000_000];
        assert!(reader.begin_zstd().expect("memory"));
        assert!(matches!(reader.stage, MemberStage::Zstd), "the frame is not decompressed in one pass");
        assert!(reader.output.bytes[declared as usize..].iter().all(|byte| *byte == 0));
        assert!(reader.output.bytes[0] != 0, "the first block fits");
    }
}
