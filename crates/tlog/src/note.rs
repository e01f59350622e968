//! Signed notes: a text, and lines with signatures of it (c2sp.org/signed-note).

use crate::{LogError, NoteSigner, NoteVerifier, decode_base64, encode_base64};

/// Maximum length of a note in bytes. The specification asks for 16 signatures at least; this is room
/// for many more.
pub const MAX_NOTE_BYTES: usize = 64 * 1024;
/// Maximum number of signatures of a note.
const MAX_SIGNATURES: usize = 64;
/// The beginning of a signature line.
const SIGNATURE_MARK: &str = "\u{2014} ";

/// One signature line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key.
    pub name: String,
    /// The id of the key.
    pub key_id: [u8; 4],
    /// The signature, of the form that the algorithm of the key has.
    pub signature: Vec<u8>,
}

/// A note. Its signatures are not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedNote {
    text: String,
    signatures: Vec<NoteSignature>,
}

impl SignedNote {
    /// Signs a text, which ends with a line feed.
    pub fn sign(text: &str, signers: &[NoteSigner]) -> Result<Self, LogError> {
        let signatures = signers.iter().map(|signer| NoteSignature {
            name: signer.verifier().name().to_owned(),
            key_id: signer.verifier().key_id(),
            signature: signer.sign(text.as_bytes()),
        });
        let note = Self { text: text.to_owned(), signatures: signatures.collect() };
        // What a reader would refuse is not made.
        Self::parse(note.to_string().as_bytes())
    }

    /// Parses a note.
    pub fn parse(bytes: &[u8]) -> Result<Self, LogError> {
        if bytes.len() > MAX_NOTE_BYTES {
            return Err(LogError::Note("it is longer than 64 KiB"));
        }
        let note = str::from_utf8(bytes).map_err(|_| LogError::Note("it is not UTF-8"))?;
        if note.bytes().any(|byte| byte < 0x20 && byte != b'\n') {
            return Err(LogError::Note("it has a control character"));
        }
        let at = note.rfind("\n\n").ok_or(LogError::Note("no empty line precedes the signatures"))?;
        let (text, lines) = (&note[..=at], &note[at + 2..]);
        let lines = lines.strip_suffix('\n').ok_or(LogError::Note("the last line is not complete"))?;
        let signatures: Vec<NoteSignature> =
            lines.split('\n').take(MAX_SIGNATURES + 1).map(parse_signature).collect::<Result<_, _>>()?;
        if signatures.len() > MAX_SIGNATURES {
            return Err(LogError::Note("it has more than 64 signatures"));
        }
        Ok(Self { text: text.to_owned(), signatures })
    }

    /// The signed text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures.
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Verifies the signature of one key.
    pub fn verify(&self, verifier: &NoteVerifier) -> Result<(), LogError> {
        let name = || verifier.name().to_owned();
        let mut is_signed = false;
        for line in &self.signatures {
            if line.name != verifier.name() || line.key_id != verifier.key_id() {
                continue;
            }
            if !verifier.verifies(self.text.as_bytes(), &line.signature) {
                return Err(LogError::WrongSignature { name: name() });
            }
            is_signed = true;
        }
        if is_signed { Ok(()) } else { Err(LogError::NotSigned { name: name() }) }
    }
}

impl std::fmt::Display for SignedNote {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "{}", self.text)?;
        for NoteSignature { name, key_id, signature } in &self.signatures {
            let encoded = encode_base64(&[&key_id[..], signature].concat());
            writeln!(formatter, "{SIGNATURE_MARK}{name} {encoded}")?;
        }
        Ok(())
    }
}

fn parse_signature(line: &str) -> Result<NoteSignature, LogError> {
    let malformed = LogError::Note("a signature line is not `\u{2014} NAME BASE64`");
    let parts = line.strip_prefix(SIGNATURE_MARK).and_then(|rest| rest.split_once(' '));
    let (name, encoded) = parts.ok_or(malformed)?;
    if !is_key_name(name) {
        return Err(LogError::Note("the name of a key is empty, or has a space or a plus sign"));
    }
    let bytes = decode_base64(encoded).ok_or(LogError::Note("a signature is not base64"))?;
    match bytes.split_first_chunk::<4>() {
        Some((key_id, signature)) if !signature.is_empty() => {
            Ok(NoteSignature { name: name.to_owned(), key_id: *key_id, signature: signature.to_vec() })
        }
        _ => Err(LogError::Note("a signature is too short")),
    }
}

/// Whether a text can be the name of a key.
pub(crate) fn is_key_name(name: &str) -> bool {
    !name.is_empty()
        && !name.chars().any(|letter| letter.is_whitespace() || letter.is_control() || letter == '+')
}
