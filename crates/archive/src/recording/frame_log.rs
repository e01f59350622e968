//! The record of the frames of a web socket.
//!
//! A parser for each direction follows the frames (RFC 6455) as they pass, and notes what they say:
//! when, who, which kind, and the payload with its mask removed. It changes nothing and delays
//! nothing. Long connections give several records, so memory is bounded; of a long frame only the
//! start is noted.

use data_encoding::BASE64;
use serde::Serialize;

/// Maximum number of bytes of one frame that are noted.
const MAX_FRAME_BYTES: usize = 1 << 20;

/// Notes of more bytes become a record.
pub(super) const MAX_LOG_BYTES: usize = 4 << 20;

/// Who sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FrameSender {
    Client,
    Server,
}

/// A frame, as it is recorded.
#[derive(Debug, Serialize)]
pub(super) struct RecordedFrame {
    /// Microseconds since the connection became a web socket.
    at: u64,
    from: FrameSender,
    /// `continuation`, `text`, `binary`, `close`, `ping`, `pong`, or the number of the opcode.
    kind: String,
    /// Whether it is the last frame of its message.
    last: bool,
    /// The payload, if it is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The payload in Base64, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// The length of the payload, if only its start is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
}

/// Follows the frames of one direction.
pub(super) struct FrameParser {
    from: FrameSender,
    head: Vec<u8>,
    frame: Option<OpenFrame>,
}

/// A frame whose payload has not passed yet.
struct OpenFrame {
    opcode: u8,
    last: bool,
    mask: Option<[u8; 4]>,
    length: u64,
    passed: u64,
    payload: Vec<u8>,
}

impl FrameParser {
    pub(super) fn new(from: FrameSender) -> Self {
        Self { from, head: Vec::with_capacity(14), frame: None }
    }

    /// Takes bytes that pass, and notes the frames that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], at: u64, note: &mut dyn FnMut(RecordedFrame, usize)) {
        while !bytes.is_empty() {
            if self.frame.is_none() {
                self.head.push(bytes[0]);
                bytes = &bytes[1..];
                self.frame = parse_head(&self.head);
            } else if let Some(frame) = &mut self.frame {
                let count = frame.take(bytes);
                bytes = &bytes[count..];
            }
            if let Some(frame) = self.frame.take_if(|frame| frame.passed == frame.length) {
                self.head.clear();
                let size = frame.payload.len() + 100;
                note(frame.into_record(self.from, at), size);
            }
        }
    }
}

/// The frame whose head these bytes are; `None` if more are needed.
fn parse_head(head: &[u8]) -> Option<OpenFrame> {
    let (first, second) = (*head.first()?, *head.get(1)?);
    let is_masked = second & 0x80 != 0;
    let length_bytes = match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let whole = 2 + length_bytes + if is_masked { 4 } else { 0 };
    if head.len() < whole {
        return None;
    }
    let length = match length_bytes {
        0 => u64::from(second & 0x7f),
        _ => head[2..2 + length_bytes].iter().fold(0, |length, byte| (length << 8) | u64::from(*byte)),
    };
    let mask = is_masked.then(|| [head[whole - 4], head[whole - 3], head[whole - 2], head[whole - 1]]);
    let (opcode, last) = (first & 0x0f, first & 0x80 != 0);
    Some(OpenFrame { opcode, last, mask, length, passed: 0, payload: Vec::new() })
}

impl OpenFrame {
    /// Takes bytes of the payload. Returns how many.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let left = usize::try_from(self.length - self.passed).unwrap_or(usize::MAX);
        let count = left.min(bytes.len());
        let kept = count.min(MAX_FRAME_BYTES.saturating_sub(self.payload.len()));
        let offset = self.payload.len();
        self.payload.extend_from_slice(&bytes[..kept]);
        if let Some(mask) = self.mask {
            for (number, byte) in self.payload[offset..].iter_mut().enumerate() {
                *byte ^= mask[(offset + number) % 4];
            }
        }
        self.passed += count as u64;
        count
    }

    fn into_record(self, from: FrameSender, at: u64) -> RecordedFrame {
        let kind = match self.opcode {
            0 => "continuation".to_owned(),
            1 => "text".to_owned(),
            2 => "binary".to_owned(),
            8 => "close".to_owned(),
            9 => "ping".to_owned(),
            10 => "pong".to_owned(),
            other => other.to_string(),
        };
        let length = (self.payload.len() as u64 != self.length).then_some(self.length);
        let (text, base64) = match String::from_utf8(self.payload) {
            Ok(text) => (Some(text), None),
            Err(bytes) => (None, Some(BASE64.encode(bytes.as_bytes()))),
        };
        RecordedFrame { at, from, kind, last: self.last, text, base64, length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(opcode: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
        let flag = if mask.is_some() { 0x80 } else { 0 };
        let mut bytes = vec![0x80 | opcode];
        match payload.len() {
            length @ 0..126 => bytes.push(flag | u8::try_from(length).unwrap()),
            length @ 126..65536 => {
                bytes.push(flag | 126);
                bytes.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
            }
            length => {
                bytes.push(flag | 127);
                bytes.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        bytes.extend(mask.into_iter().flatten());
        let mask = mask.unwrap_or_default();
        bytes.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]));
        bytes
    }

    fn notes(bytes: &[u8], step: usize) -> Vec<RecordedFrame> {
        let mut parser = FrameParser::new(FrameSender::Client);
        let mut notes = Vec::new();
        for piece in bytes.chunks(step) {
            parser.push(piece, 7, &mut |frame, _| notes.push(frame));
        }
        notes
    }

    #[test]
    fn frames_are_noted_however_they_are_cut() {
        let long = vec![b'x'; 70_000];
        let bytes = [
            frame(1, "hällo".as_bytes(), Some([1, 2, 3, 4])),
            frame(2, &[0xff; 200], None),
            frame(1, &long, Some([9, 8, 7, 6])),
            frame(8, b"", None),
        ]
        .concat();
        for step in [1, 2, 7, 1000, bytes.len()] {
            let notes = notes(&bytes, step);
            let kinds: Vec<&str> = notes.iter().map(|note| note.kind.as_str()).collect();
            assert_eq!(kinds, ["text", "binary", "text", "close"], "{step}");
            assert_eq!(notes[0].text.as_deref(), Some("hällo"));
            assert_eq!(notes[1].base64, Some(BASE64.encode(&[0xff; 200])));
            assert_eq!(notes[2].text.as_deref().map(str::len), Some(70_000));
        }
    }

    #[test]
    fn of_a_long_frame_the_start_is_noted() {
        let bytes = frame(1, &vec![b'x'; MAX_FRAME_BYTES + 5], None);
        let notes = notes(&bytes, 8192);
        assert_eq!(notes[0].length, Some(MAX_FRAME_BYTES as u64 + 5));
        assert_eq!(notes[0].text.as_deref().map(str::len), Some(MAX_FRAME_BYTES));
    }

    proptest! {
        #[test]
        fn any_bytes_are_followed_without_panic(bytes: Vec<u8>, step in 1usize..9) {
            notes(&bytes, step);
        }
    }
}
