//! Reads DER, strictly and without recursion: the caller descends as far as its structure does.

use crate::LogError;

/// The tags that timestamps have.
pub(super) mod tag {
    pub(crate) const BOOLEAN_TAG: u8 = 0x01;
    pub(crate) const INTEGER_TAG: u8 = 0x02;
    pub(crate) const BIT_STRING: u8 = 0x03;
    pub(crate) const OCTET_STRING: u8 = 0x04;
    pub(crate) const NULL_TAG: u8 = 0x05;
    pub(crate) const OBJECT_ID: u8 = 0x06;
    pub(crate) const UTC_TIME: u8 = 0x17;
    pub(crate) const GENERALIZED_TIME: u8 = 0x18;
    pub(crate) const SEQUENCE_TAG: u8 = 0x30;
    pub(crate) const SET_TAG: u8 = 0x31;
    /// `[n]`, constructed.
    pub(crate) const fn context(number: u8) -> u8 {
        0xa0 | number
    }
}

/// A value: its tag, its content, and all its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct DerElement<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    /// Tag, length and content.
    pub(super) whole: &'a [u8],
    /// The offset of the content.
    offset: usize,
}

impl<'a> DerElement<'a> {
    /// The values inside.
    pub(super) fn reader(&self) -> DerCursor<'a> {
        DerCursor { bytes: self.content, offset: self.offset }
    }
}

/// The values that follow each other in some bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct DerCursor<'a> {
    bytes: &'a [u8],
    /// The offset of the first byte, for messages.
    offset: usize,
}

impl<'a> DerCursor<'a> {
    /// Reads these bytes from the start.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// The error for what is read next.
    pub(super) fn error(&self, message: &'static str) -> LogError {
        LogError::Der { message, offset: self.offset }
    }

    /// Whether nothing follows.
    pub(super) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The tag of the next value.
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// The next value.
    pub(super) fn any(&mut self) -> Result<DerElement<'a>, LogError> {
        let truncated = self.error("a value is cut off");
        let (Some(&tag), Some(&first)) = (self.bytes.first(), self.bytes.get(1)) else {
            return Err(truncated);
        };
        if tag & 0x1f == 0x1f {
            return Err(self.error("a tag has several bytes"));
        }
        let (length, header) = match first {
            0..=0x7f => (usize::from(first), 2),
            // Four bytes of length are more than any answer has.
            0x81..=0x84 => {
                let count = usize::from(first & 0x7f);
                let digits = self.bytes.get(2..2 + count).ok_or(truncated)?;
                let length = digits.iter().fold(0usize, |length, digit| length << 8 | usize::from(*digit));
                if digits[0] == 0 || length < 0x80 {
                    return Err(self.error("a length is not in its shortest form"));
                }
                (length, 2 + count)
            }
            _ => return Err(self.error("a length is indefinite or too large")),
        };
        let whole = self.bytes.get(..header + length).ok_or_else(|| self.error("a value is cut off"))?;
        let value = DerElement { tag, content: &whole[header..], whole, offset: self.offset + header };
        self.bytes = &self.bytes[whole.len()..];
        self.offset += whole.len();
        Ok(value)
    }

    /// The next value, which must have this tag.
    pub(super) fn expect(&mut self, tag: u8, message: &'static str) -> Result<DerElement<'a>, LogError> {
        match self.peek() {
            Some(found) if found == tag => self.any(),
            _ => Err(self.error(message)),
        }
    }

    /// The next value, if it has this tag.
    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<DerElement<'a>>, LogError> {
        match self.peek() {
            Some(found) if found == tag => self.any().map(Some),
            _ => Ok(None),
        }
    }

    /// The values of a sequence.
    pub(super) fn sequence(&mut self, message: &'static str) -> Result<DerCursor<'a>, LogError> {
        self.expect(tag::SEQUENCE_TAG, message).map(|value| value.reader())
    }

    /// The content of an object identifier.
    pub(super) fn object_id(&mut self) -> Result<&'a [u8], LogError> {
        self.expect(tag::OBJECT_ID, "an object identifier is missing").map(|value| value.content)
    }

    /// A small number that is not negative.
    pub(super) fn number(&mut self) -> Result<u64, LogError> {
        let value = self.expect(tag::INTEGER_TAG, "a number is missing")?;
        let is_small = value.content.len() <= 8 && value.content.first().is_some_and(|byte| *byte < 0x80);
        match is_small {
            true => Ok(value.content.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))),
            false => Err(LogError::Der { message: "a number is too large", offset: value.offset }),
        }
    }

    /// The identifier of an algorithm, and its parameters.
    pub(super) fn algorithm(&mut self) -> Result<(&'a [u8], DerCursor<'a>), LogError> {
        let mut algorithm = self.sequence("an algorithm is missing")?;
        Ok((algorithm.object_id()?, algorithm))
    }

    /// Fails if anything follows.
    pub(super) fn end(&self) -> Result<(), LogError> {
        if self.is_at_end() { Ok(()) } else { Err(self.error("unexpected bytes follow")) }
    }
}

/// A value with this tag and content.
pub(super) fn encode(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    let length = content.len().to_be_bytes();
    match content.len() {
        short @ 0..=0x7f => bytes.push(short as u8),
        _ => {
            let digits = &length[length.iter().position(|byte| *byte != 0).unwrap_or(0)..];
            bytes.push(0x80 | digits.len() as u8);
            bytes.extend_from_slice(digits);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}
