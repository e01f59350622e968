//! What a head says about the body behind it, and about the connection.
//!
//! Where a head contradicts itself the reading that takes in more bytes is chosen, and the doubt is said.

use varve_core::exchange::{Lines, StatusLine, Truncated};

use super::body::Body;

/// How large a head may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadLimits {
    pub(crate) bytes: usize,
    pub(crate) lines: usize,
}

/// Whether bytes are the beginning of an answer of HTTP/1, as far as one can see.
pub(super) fn may_be_http(bytes: &[u8]) -> bool {
    const START: &[u8] = b"HTTP/";
    let seen = bytes.len().min(START.len());
    bytes[..seen].eq_ignore_ascii_case(&START[..seen])
}

/// What matters of a head.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) lines: usize,
    persistent: bool,
    fields: Fields,
}

/// The fields that frame a body, joined where they occur twice.
#[derive(Default)]
struct Fields {
    length: Vec<u8>,
    transfer: Vec<u8>,
    connection: Vec<u8>,
}

/// What the fields say about the length.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Unsaid,
    Is(u64),
    /// Two lengths: the larger.
    Contradicts(u64),
    Unreadable,
}

impl Head {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let first = bytes.split(|byte| *byte == b'\n').next()?;
        let line = StatusLine::read(first)?;
        let mut fields = Fields::default();
        let lines = fields.gather(bytes);
        Some(Self { status: line.status, lines, persistent: line.persistent, fields })
    }

    /// Whether a final answer is still to come. 101 is final: it was not asked for, and HTTP ends there.
    pub(super) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }

    pub(super) fn body(&self, trailer_bytes: usize) -> Body {
        if matches!(self.status, 101 | 204 | 304) {
            return Body::none();
        }
        if !self.fields.transfer.is_empty() {
            let chunked = last_coding(&self.fields.transfer).eq_ignore_ascii_case(b"chunked");
            return if chunked { Body::chunked(trailer_bytes) } else { Body::until_close() };
        }
        match self.fields.length() {
            Length::Is(length) | Length::Contradicts(length) => Body::of_length(length),
            Length::Unsaid | Length::Unreadable => Body::until_close(),
        }
    }

    pub(super) fn doubt(&self) -> Option<Truncated> {
        if matches!(self.status, 101 | 204 | 304) || !self.fields.transfer.is_empty() {
            return None;
        }
        match self.fields.length() {
            Length::Unsaid | Length::Is(_) => None,
            Length::Contradicts(_) | Length::Unreadable => Some(Truncated::Unspecified),
        }
    }

    pub(super) fn keeps_open(&self) -> bool {
        let says = |word: &[u8]| {
            self.fields
                .connection
                .split(|byte| *byte == b',')
                .any(|part| part.trim_ascii().eq_ignore_ascii_case(word))
        };
        let ambiguous = !self.fields.transfer.is_empty() && !self.fields.length.is_empty();
        self.status != 101 && !ambiguous && !says(b"close") && (self.persistent || says(b"keep-alive"))
    }
}

impl Fields {
    /// Goes over the lines; says how many there are.
    fn gather(&mut self, head: &[u8]) -> usize {
        let mut lines = 0;
        let mut last: Option<&mut Vec<u8>> = None;
        for (name, value) in Lines::of(head) {
            lines += 1;
            if !name.is_empty() {
                last = match name.len() {
                    14 if name.eq_ignore_ascii_case(b"content-length") => Some(&mut self.length),
                    17 if name.eq_ignore_ascii_case(b"transfer-encoding") => Some(&mut self.transfer),
                    10 if name.eq_ignore_ascii_case(b"connection") => Some(&mut self.connection),
                    _ => None,
                };
            }
            if let Some(field) = last.as_deref_mut() {
                if !field.is_empty() {
                    field.extend_from_slice(if name.is_empty() { b" " } else { b"," });
                }
                field.extend_from_slice(value);
            }
        }
        lines
    }

    fn length(&self) -> Length {
        let mut found = Length::Unsaid;
        for part in self.length.split(|byte| *byte == b',') {
            let part = part.trim_ascii();
            if part.is_empty() {
                continue;
            }
            let Some(length) = decimal(part) else { return Length::Unreadable };
            found = match found {
                Length::Unsaid => Length::Is(length),
                Length::Is(before) if before == length => found,
                Length::Is(before) | Length::Contradicts(before) => Length::Contradicts(before.max(length)),
                Length::Unreadable => found,
            };
        }
        if found == Length::Unsaid && !self.length.is_empty() { Length::Unreadable } else { found }
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

fn last_coding(codings: &[u8]) -> &[u8] {
    let last = codings.rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii).find(|part| !part.is_empty());
    let last = last.unwrap_or_default();
    last.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end()
}
