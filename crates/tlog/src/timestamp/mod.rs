//! RFC 3161 timestamps: the request for a timestamp of some bytes, and the verification of the answer.
//!
//! An answer is verified against the bytes and against the certificate in it. Whether that certificate
//! is of an authority that a reader trusts is not decided here: `openssl ts -verify -CAfile` does, with
//! the same files.

mod certificate;
mod der;
mod signed_token;

use ring::digest::{SHA256, digest};

use crate::LogError;
use certificate::TimestampCertificate;
use der::{DerCursor, encode, tag};
use signed_token::SignedToken;

/// Maximum length of an answer in bytes. With a chain of certificates it has about ten thousand.
pub const MAX_TIMESTAMP_BYTES: usize = 128 * 1024;

/// SHA-256, 2.16.840.1.101.3.4.2.1.
const SHA256_ID: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];

/// A timestamp whose signature is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedTimestamp {
    /// When the authority saw the bytes: RFC 3339 in UTC.
    pub time: String,
    /// The name in the certificate of the authority.
    pub authority: String,
    /// The serial number of the timestamp, in hex.
    pub serial: String,
}

/// The request for a timestamp of these bytes: a query of RFC 3161 with their SHA-256, which asks for
/// the certificate of the authority. It has no nonce, because the bytes are different for each request.
pub fn request_timestamp(bytes: &[u8]) -> Vec<u8> {
    let algorithm =
        encode(tag::SEQUENCE_TAG, &[encode(tag::OBJECT_ID, SHA256_ID), encode(tag::NULL_TAG, &[])].concat());
    let imprint = encode(tag::OCTET_STRING, digest(&SHA256, bytes).as_ref());
    let imprint = encode(tag::SEQUENCE_TAG, &[algorithm, imprint].concat());
    let (version, wants_certificate) = (encode(tag::INTEGER_TAG, &[1]), encode(tag::BOOLEAN_TAG, &[0xff]));
    encode(tag::SEQUENCE_TAG, &[version, imprint, wants_certificate].concat())
}

/// Verifies that an answer of an authority is a timestamp of these bytes, and that the key of the
/// certificate in it signed it.
pub fn verify_timestamp(answer: &[u8], bytes: &[u8]) -> Result<VerifiedTimestamp, LogError> {
    if answer.len() > MAX_TIMESTAMP_BYTES {
        return Err(LogError::Timestamp("the answer is longer than 128 KiB"));
    }
    let token = SignedToken::parse(token_of(answer)?)?;
    let info = TokenInfo::parse(token.content)?;
    if info.algorithm != SHA256_ID {
        return Err(LogError::Timestamp("the timestamp is not of a SHA-256 digest"));
    }
    if info.imprint != digest(&SHA256, bytes).as_ref() {
        return Err(LogError::Timestamp("the timestamp is of other bytes"));
    }
    let certificate = token.signer_certificate()?;
    let certificate = TimestampCertificate::parse(certificate)?;
    token.verify_signature(&certificate)?;
    if !certificate.is_for_timestamps {
        return Err(LogError::Timestamp("the certificate of the authority is not for timestamps"));
    }
    if !certificate.is_valid_at(&info.time) {
        return Err(LogError::Timestamp(
            "the certificate of the authority was not valid at the time of the timestamp",
        ));
    }
    let serial = data_encoding::HEXLOWER.encode(info.serial);
    Ok(VerifiedTimestamp { time: format_time(&info.time), authority: certificate.subject, serial })
}

/// The token in an answer. A bare token, as some authorities store it, is taken too.
fn token_of(answer: &[u8]) -> Result<&[u8], LogError> {
    let mut reader = DerCursor::new(answer);
    let mut outer = reader.sequence("the answer does not begin with a sequence")?;
    reader.end()?;
    if outer.peek() == Some(tag::OBJECT_ID) {
        return Ok(answer);
    }
    let status = outer.sequence("the status is missing")?.number()?;
    // Granted, and granted with modifications.
    if status > 1 {
        return Err(LogError::TimestampRefused(status));
    }
    let token = outer.expect(tag::SEQUENCE_TAG, "the timestamp is missing")?;
    outer.end()?;
    Ok(token.whole)
}

/// What the authority signed.
struct TokenInfo<'a> {
    algorithm: &'a [u8],
    imprint: &'a [u8],
    serial: &'a [u8],
    /// `YYYYMMDDHHMMSS` and an optional fraction.
    time: String,
}

impl<'a> TokenInfo<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, LogError> {
        let mut reader = DerCursor::new(bytes);
        let mut info = reader.sequence("the content is no timestamp")?;
        reader.end()?;
        if info.number()? != 1 {
            return Err(info.error("the version of the timestamp is unknown"));
        }
        info.object_id()?;
        let mut imprint = info.sequence("the imprint is missing")?;
        let (algorithm, _) = imprint.algorithm()?;
        let imprint = imprint.expect(tag::OCTET_STRING, "the imprint is missing")?.content;
        let serial = info.expect(tag::INTEGER_TAG, "the serial number is missing")?.content;
        if serial.len() > 32 {
            return Err(info.error("the serial number is too long"));
        }
        let time = info.expect(tag::GENERALIZED_TIME, "the time is missing")?.content;
        let time = parse_time(time).ok_or_else(|| info.error("the time is not in UTC"))?;
        Ok(Self { algorithm, imprint, serial, time })
    }
}

/// The digits of `YYYYMMDDHHMMSS[.fraction]Z`, with the fraction.
fn parse_time(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let in_range = |at: usize, most: u8| {
        let number = whole.get(at..at + 2).and_then(|digits| digits.parse::<u8>().ok());
        number.is_some_and(|number| number <= most)
    };
    let is_time = whole.len() == 14
        && is_digits(whole)
        && is_digits(fraction)
        && fraction.len() <= 9
        && in_range(4, 12)
        && in_range(6, 31)
        && in_range(8, 23)
        && in_range(10, 59)
        && in_range(12, 60);
    is_time.then(|| text.to_owned())
}

/// RFC 3339.
fn format_time(digits: &str) -> String {
    let (date, clock) = digits.split_at(8);
    let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
    format!("{year}-{month}-{day}T{}:{}:{}Z", &clock[..2], &clock[2..4], &clock[4..])
}
