//! From bytes to tags and texts, as browsers tell them apart.
//!
//! The scanner is given what is there of a page, takes what it can make sense of, and says how much that was; the rest is
//! given again with more behind it. It remembers a mode and a few borders, whatever the size of the page. What the tags
//! mean is the page's own knowledge.

use super::foreign::Foreign;
use super::page::Page;
use super::raw::{End, RawElement};
use super::tag::{Manner, Tag, end_tag};
use crate::links::source::charset;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// What is being read.
#[derive(Debug, Clone, Copy)]
enum Mode {
    /// Text and tags.
    Data,
    Comment,
    /// Something that ends at the next bracket and means nothing: a declaration, an instruction.
    Nothing,
    Characters,
    Raw(RawElement),
    /// Text to the end.
    Plain,
}

/// Reads a page.
pub(super) struct Scanner {
    mode: Mode,
    foreign: Foreign,
    encoding: &'static Encoding,
    /// Whether the page may still say its encoding.
    adjust: bool,
}

/// Bytes of a page.
#[derive(Clone, Copy)]
struct Piece<'b> {
    bytes: &'b [u8],
    /// Where they stand in the page.
    at: u64,
    /// Whether nothing follows.
    last: bool,
}

impl Scanner {
    /// At the beginning of a page in that encoding, which the page may change if it is a guess.
    pub(super) fn new(encoding: &'static Encoding, is_guess: bool) -> Self {
        Self { mode: Mode::Data, foreign: Foreign::default(), encoding, adjust: is_guess }
    }

    /// Takes as much as can be made sense of; says how much that is. What is left when nothing follows is no markup.
    pub(super) fn feed(&mut self, bytes: &[u8], at: u64, last: bool, page: &mut Page<'_, '_>) -> usize {
        let mut from = 0;
        while from < bytes.len() && !page.emitter.is_full() {
            let piece = Piece { bytes: &bytes[from..], at: at + from as u64, last };
            match self.step(piece, page) {
                Some(taken) => from += taken,
                None => break,
            }
        }
        from
    }

    /// The encoding that the page turned out to have.
    pub(super) fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// Gives up what was begun and did not end.
    pub(super) fn give_up(&mut self) {
        self.mode = Mode::Data;
    }

    /// One tag, one text, or a part of something longer; none if more is needed to tell what it is.
    fn step(&mut self, piece: Piece<'_>, page: &mut Page<'_, '_>) -> Option<usize> {
        match &mut self.mode {
            Mode::Data => match memchr::memchr(b'<', piece.bytes) {
                Some(0) => self.markup(piece, page),
                found => {
                    let length = found.unwrap_or(piece.bytes.len());
                    page.text(&piece.bytes[..length], piece.at);
                    Some(length)
                }
            },
            Mode::Raw(raw) => {
                let (length, ended) = match raw.find_end(piece.bytes, piece.last) {
                    End::At(length) => (length, true),
                    End::After(length) => (length, false),
                };
                page.raw_text(&piece.bytes[..length], piece.at);
                if ended {
                    page.end_raw_text(self.encoding);
                    self.mode = Mode::Data;
                }
                (ended || length > 0).then_some(length)
            }
            Mode::Comment => self.until(piece, end_of_comment),
            Mode::Nothing => {
                self.until(piece, |bytes| memchr::memchr(b'>', bytes).map_or(Err(0), |at| Ok(at + 1)))
            }
            Mode::Characters => self.characters(piece, page),
            Mode::Plain => Some(piece.bytes.len()),
        }
    }

    /// Passes over what ends somewhere. `end` says where, or how many bytes at the end may belong to the end.
    fn until(&mut self, piece: Piece<'_>, end: impl Fn(&[u8]) -> Result<usize, usize>) -> Option<usize> {
        match end(piece.bytes) {
            Ok(length) => {
                self.mode = Mode::Data;
                Some(length)
            }
            Err(_) if piece.last => Some(piece.bytes.len()),
            Err(kept) => Some(piece.bytes.len().saturating_sub(kept)).filter(|length| *length > 0),
        }
    }

    /// The text of a `CDATA` section.
    fn characters(&mut self, piece: Piece<'_>, page: &mut Page<'_, '_>) -> Option<usize> {
        let end = memchr::memmem::find(piece.bytes, b"]]>");
        let whole = if piece.last { piece.bytes.len() } else { piece.bytes.len().saturating_sub(2) };
        page.text(&piece.bytes[..end.unwrap_or(whole)], piece.at);
        self.until(piece, |_| end.map_or(Err(2), |end| Ok(end + 3)))
    }

    /// What begins with an angle bracket.
    fn markup(&mut self, piece: Piece<'_>, page: &mut Page<'_, '_>) -> Option<usize> {
        let second = |at: usize| piece.bytes.get(at).copied();
        match (second(1), second(2)) {
            (Some(letter), _) if letter.is_ascii_alphabetic() => self.start_tag(piece, page),
            (Some(b'/'), Some(letter)) if letter.is_ascii_alphabetic() => self.end_tag(piece, page),
            (Some(b'/'), Some(b'>')) => Some(3),
            (None, _) | (Some(b'/'), None) if !piece.last => None,
            (Some(b'!'), _) => self.declaration(piece),
            (Some(b'/'), Some(_)) | (Some(b'?'), _) => {
                self.mode = Mode::Nothing;
                Some(2)
            }
            _ => {
                page.text(&piece.bytes[..1], piece.at);
                Some(1)
            }
        }
    }

    fn declaration(&mut self, piece: Piece<'_>) -> Option<usize> {
        const LONGEST: usize = b"<![CDATA[".len();
        let bytes = piece.bytes;
        if bytes.len() < LONGEST && !piece.last {
            return None;
        }
        if let Some(comment) = bytes.strip_prefix(b"<!--") {
            // These two are whole comments to browsers.
            for whole in [&b">"[..], b"->"] {
                if comment.starts_with(whole) {
                    return Some(4 + whole.len());
                }
            }
            self.mode = Mode::Comment;
            return Some(4);
        }
        if bytes.starts_with(b"<![CDATA[") && !self.foreign.is_html() {
            self.mode = Mode::Characters;
            return Some(LONGEST);
        }
        self.mode = Mode::Nothing;
        Some(2)
    }

    fn start_tag(&mut self, piece: Piece<'_>, page: &mut Page<'_, '_>) -> Option<usize> {
        let manner = Manner {
            encoding: self.encoding,
            is_guess: self.adjust,
            most: page.emitter.limits.inline,
            at: piece.at,
        };
        let tag = Tag::read(piece.bytes, manner)?;
        let (is_svg, is_html) = self.foreign.open(&tag);
        page.tag(&tag, is_svg, self.encoding);
        if is_html {
            match RawElement::named(&tag.name) {
                Some(raw) => self.mode = Mode::Raw(raw),
                None if tag.name == "plaintext" => self.mode = Mode::Plain,
                None if tag.name == "meta" && self.adjust => self.take_encoding(&tag),
                None => {}
            }
        }
        Some(tag.length)
    }

    fn end_tag(&mut self, piece: Piece<'_>, page: &mut Page<'_, '_>) -> Option<usize> {
        let (name, length) = end_tag(piece.bytes)?;
        self.foreign.close(name);
        page.end_tag(name, self.encoding);
        Some(length)
    }

    /// Takes the encoding that a `meta` names, if it names one that the page can have.
    fn take_encoding(&mut self, tag: &Tag<'_>) {
        let by_content = || {
            let is_type = tag.text("http-equiv").trim().eq_ignore_ascii_case("content-type");
            charset(tag.text("content")).filter(|_| is_type)
        };
        let named = Encoding::for_label(tag.text("charset").trim().as_bytes()).or_else(by_content);
        if let Some(encoding) = named {
            self.adjust = false;
            // Whoever could read this tag is not reading UTF-16.
            self.encoding = match encoding {
                wide if wide == UTF_16LE || wide == UTF_16BE => UTF_8,
                other if other.is_ascii_compatible() => other,
                _ => self.encoding,
            };
        }
    }
}

fn end_of_comment(bytes: &[u8]) -> Result<usize, usize> {
    let usual = memchr::memmem::find(bytes, b"-->").map(|at| at + 3);
    let before = &bytes[..usual.unwrap_or(bytes.len())];
    let odd = memchr::memmem::find(before, b"--!>").map(|at| at + 4);
    odd.or(usual).ok_or(3)
}
