//! Zstandard frames, unpacked, and the dictionary that a file may begin with.

use std::io;
use std::sync::Arc;

use super::{Access, CHUNK, Dictionary, FileDecoders, Held, Inside, LARGEST_WHOLE, Unpacker, zstd};
use crate::rule::Rule;
use varve_wire::ReadAt;

/// A frame of more blocks is streamed: those of others have as much as fits.
const MOST_BLOCKS: usize = 512;
/// Content up to this is unpacked even for who may want a header alone: to begin to stream costs as much.
const LARGEST_AT_RANDOM: usize = 256 << 10;
/// So many packed bytes are brought into view at most to unpack them in one go.
const LARGEST_VIEW: usize = 4 << 20;

/// A dictionary, ready to unpack with, and known to who reads here again.
fn ready(stored: &[u8], home: Option<&FileDecoders>) -> io::Result<Arc<Dictionary>> {
    let dictionary = match home {
        Some(home) => home.know(stored),
        None => Arc::new(Dictionary::new(stored.to_vec())),
    };
    dictionary.number()?;
    Ok(dictionary)
}

impl<S: ReadAt> Unpacker<S> {
    /// The dictionary at the start of the file, wherever reading starts. It is unpacked, unless others have done that. One that cannot be used
    /// is said to be that, and counts as none.
    pub(super) fn read_dictionary(
        &mut self,
        home: Option<&FileDecoders>,
    ) -> io::Result<Option<Arc<Dictionary>>> {
        let here = self.window.position();
        self.window.seek(0);
        let found = self.dictionary_at_start(home)?;
        self.window.seek(here);
        self.held = Held::Nothing;
        Ok(found.unwrap_or_else(|why| {
            self.held = Held::Unusable;
            self.report(Rule::DictionaryUnusable, 0, why);
            None
        }))
    }

    /// The dictionary that the file begins with, if it does; else why it cannot be used.
    fn dictionary_at_start(
        &mut self,
        home: Option<&FileDecoders>,
    ) -> io::Result<Result<Option<Arc<Dictionary>>, String>> {
        let view = self.window.fill(8)?;
        let length = if view.starts_with(&zstd::DICTIONARY_MAGIC) { zstd::skippable(view) } else { None };
        let Some(length) = length else { return Ok(Ok(None)) };
        if length > (zstd::LARGEST_DICTIONARY + 8) as u64 {
            return Ok(Err("the zstd dictionary is larger than 8 MiB".to_owned()));
        }
        let frame = self.window.fill(length as usize)?;
        let Some(stored) = frame.get(8..length as usize) else {
            return Ok(Err("the zstd dictionary is cut short".to_owned()));
        };
        let dictionary = ready(stored, home).map(Some);
        Ok(dictionary.map_err(|error| format!("the zstd dictionary cannot be read: {error}")))
    }

    pub(super) fn begin_zstd(&mut self) -> io::Result<bool> {
        if !self.find_frame()? {
            return Ok(false);
        }
        self.member_offset = self.window.position();
        if self.frame_promised && !zstd::is_checked(self.window.bytes()) {
            self.frame_promised = false;
            self.report(
                Rule::FrameUnchecked,
                self.member_offset,
                "a zstd frame gives no content size or no checksum (said once for this file)",
            );
        }
        if let Some((rule, why)) = self.beyond_us() {
            self.refuse_frame(rule, why)?;
            return Ok(true);
        }
        self.careful = false;
        self.given_before = 0;
        if self.unframe_whole()? {
            return Ok(true);
        }
        if let Some(unframing) = &mut self.unframing {
            unframing.reset()?;
        }
        self.inside = Inside::Zstd;
        Ok(true)
    }

    /// Decompresses the frame in one go where it is not large. False when it is, or is damaged: what can be had of it is streamed.
    fn unframe_whole(&mut self) -> io::Result<bool> {
        let content = zstd::content_size(self.window.bytes()).and_then(|size| usize::try_from(size).ok());
        let most = if self.access == Access::Random { LARGEST_AT_RANDOM } else { LARGEST_WHOLE };
        let Some(content) = content.filter(|content| *content <= most) else { return Ok(false) };
        let Some(length) = self.frame_in_view()? else { return Ok(false) };
        if self.output.len() < content {
            self.enlarge_output(content);
        }
        let Some(unframing) = &mut self.unframing else { return Ok(false) };
        let given = unframing.whole(&self.window.bytes()[..length], &mut self.output[..content]);
        let Some(given) = given else { return Ok(false) };
        self.window.consume(length);
        self.end = given;
        self.given = given as u64;
        self.inside = Inside::Whole;
        Ok(true)
    }

    /// Brings all of a frame into view: its length.
    fn frame_in_view(&mut self) -> io::Result<Option<usize>> {
        let Some((mut end, has_checksum)) = zstd::header_length(self.window.bytes()) else { return Ok(None) };
        for _ in 0..MOST_BLOCKS {
            let header = self.window.fill(end + 3)?.get(end..).and_then(|rest| rest.first_chunk().copied());
            let Some(block) = header.and_then(zstd::block) else { return Ok(None) };
            end += 3 + block.length as usize;
            if end > LARGEST_VIEW {
                return Ok(None);
            }
            if block.is_last {
                end += if has_checksum { 4 } else { 0 };
                return Ok((self.window.fill(end)?.len() >= end).then_some(end));
            }
        }
        Ok(None)
    }

    /// Why the frame cannot be unpacked here, as its header says.
    fn beyond_us(&mut self) -> Option<(Rule, String)> {
        if let Some(lack) = self.lack() {
            return Some((Rule::MemberDamaged, lack));
        }
        let most = zstd::LARGEST_WINDOW;
        let window = zstd::window(self.window.bytes()).filter(|window| *window > most)?;
        let message = format!(
            "a zstd frame needs a window of {window} bytes; a reader need not give it more than {most}"
        );
        Some((Rule::WindowTooLarge, message))
    }

    /// Passes a frame that cannot be unpacked here. Its blocks say their lengths, so the next is found without unpacking
    /// anything.
    fn refuse_frame(&mut self, rule: Rule, why: String) -> io::Result<()> {
        let end = match self.frame(self.member_offset, 0)? {
            Ok(frame) => frame.end,
            Err(lost) => {
                self.window.seek(lost);
                return self.fail(rule, &why);
            }
        };
        self.report(rule, self.member_offset, why);
        self.window.seek(end);
        self.leave_failed();
        self.put_aside(self.member_offset)
    }

    /// What is said of a frame that needs another dictionary than the file's. That there are such frames is said once more, for all of them.
    fn lack(&mut self) -> Option<String> {
        let number = zstd::wanted_dictionary(self.window.bytes())?;
        let why = match self.held {
            Held::Numbered(held) if held == number => return None,
            Held::Unusable => "and that of the file cannot be used",
            Held::Nothing | Held::Numbered(_) => "which the file does not hold",
        };
        if !self.dictionary_missed {
            self.dictionary_missed = true;
            let message = format!("frames need the zstd dictionary {number}, {why}");
            self.report(Rule::DictionaryMissing, self.member_offset, message);
        }
        Some(format!("a zstd frame needs the dictionary {number}, {why}"))
    }

    /// Passes skippable frames and junk.
    fn find_frame(&mut self) -> io::Result<bool> {
        loop {
            let from = self.window.position();
            let view = self.window.fill(zstd::LONGEST_HEADER)?;
            if view.is_empty() {
                return Ok(false);
            }
            if view.starts_with(&zstd::MAGIC) {
                return Ok(true);
            }
            if let Some(length) = zstd::skippable(view) {
                if from > 0 && view.starts_with(&zstd::DICTIONARY_MAGIC) {
                    self.report(
                        Rule::DictionaryUnusable,
                        from,
                        "a zstd dictionary that is not at the start of the file",
                    );
                }
                let left = self.window.left(length)?;
                self.window.seek(from + left);
                if left < length {
                    self.report(Rule::MemberCut, from, "the file ends inside a skippable zstd frame");
                    return Ok(false);
                }
                continue;
            }
            let found = self.search(from, u64::MAX)?;
            self.report_junk(from, "zstd frame")?;
            return Ok(found);
        }
    }

    pub(super) fn unframe_more(&mut self) -> io::Result<bool> {
        self.make_room();
        let packed = self.window.fill(1)?;
        let at_end = packed.is_empty();
        let Some(unframing) = &mut self.unframing else { return Ok(false) };
        let packed = if self.careful { &packed[..packed.len().min(1)] } else { packed };
        match unframing.step(packed, &mut self.output[self.end..self.end + CHUNK]) {
            Ok((taken, given, ended)) => {
                self.window.consume(taken);
                self.accept(given);
                if ended {
                    self.inside = Inside::Outside;
                } else if at_end && given == 0 {
                    self.cut_member()?;
                }
                Ok(given > 0 || (!ended && !at_end))
            }
            Err(_) if !self.careful => {
                self.read_frame_again()?;
                Ok(true)
            }
            Err(error) => {
                // What else the decoder says of damage depends on the frames it had before.
                let is_complete = error.to_string().contains("checksum");
                let what = if is_complete {
                    // Its last byte is what showed it.
                    self.window.consume(1);
                    "the checksum of a zstd frame is wrong"
                } else if self.held == Held::Unusable {
                    "a zstd frame is damaged, or needs the dictionary of the file, which cannot be used"
                } else {
                    "a zstd frame is damaged"
                };
                self.fail(Rule::MemberDamaged, &format!("{what}, {} bytes of it could be read", self.given))?;
                Ok(false)
            }
        }
    }

    /// Takes so many bytes behind the buffered ones, but for those that were given before.
    fn accept(&mut self, given: usize) {
        if given > 0 {
            self.given_until = self.window.position();
        }
        let known = usize::try_from(self.given_before).unwrap_or(usize::MAX).min(given);
        self.output.copy_within(self.end + known..self.end + given, self.end);
        self.given_before -= known as u64;
        self.end += given - known;
        self.given += (given - known) as u64;
    }

    /// A step that fails gives nothing, however much it had unpacked: reads the frame again, so little at a time that a
    /// step never unpacks both what is sound and what is not.
    fn read_frame_again(&mut self) -> io::Result<()> {
        self.careful = true;
        self.given_before = self.given;
        self.window.seek(self.member_offset);
        match &mut self.unframing {
            Some(unframing) => unframing.reset(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ::zstd::bulk;

    use super::*;

    #[test]
    fn a_frame_that_says_less_than_it_holds_gets_no_more_room() {
        let noise: Vec<u8> =
            (0..1_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 | 1).collect();
        let mut frame = bulk::compress(&noise, 1).expect("memory");
        let said = 200_000_u32;
        assert_eq!(frame[4] >> 5, 4, "a window, four bytes of length");
        frame[6..10].copy_from_slice(&said.to_le_bytes());
        let mut unpacker = Unpacker::new(frame.as_slice(), 0, Access::Sequential).expect("memory");
        unpacker.output = vec![0; 2_000_000];
        assert!(unpacker.begin_zstd().expect("memory"));
        assert!(matches!(unpacker.inside, Inside::Zstd), "it is no frame to be unpacked in one go");
        assert!(unpacker.output[said as usize..].iter().all(|byte| *byte == 0));
        assert!(unpacker.output[0] != 0, "the first block fits");
    }
}
