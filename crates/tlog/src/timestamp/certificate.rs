//! The certificate of a timestamp authority: its name, key, purpose and validity.

use ring::digest::Algorithm;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, UnparsedPublicKey,
    VerificationAlgorithm,
};

use super::der::{DerCursor, DerElement, tag};
use super::parse_time;
use crate::LogError;

/// The extension with the purposes of a key, 2.5.29.37.
const KEY_PURPOSE_ID: &[u8] = &[0x55, 0x1d, 0x25];
/// The purpose of timestamps, 1.3.6.1.5.5.7.3.8.
const TIMESTAMPING_ID: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];
/// The attribute of a name that people read, 2.5.4.3.
const COMMON_NAME_ID: &[u8] = &[0x55, 0x04, 0x03];
/// The attribute with the organization, 2.5.4.10.
const ORGANIZATION_ID: &[u8] = &[0x55, 0x04, 0x0a];
/// RSA keys and signatures, 1.2.840.113549.1.1 and one more byte.
const RSA_ARC: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// Elliptic curve keys, 1.2.840.10045.2.1.
const CURVE_KEY_ID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// ECDSA signatures with a digest of SHA-2, 1.2.840.10045.4.3 and one more byte.
const ECDSA_ARC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
/// The curve P-256, 1.2.840.10045.3.1.7.
const P256_ID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// The curve P-384, 1.3.132.0.34.
const P384_ID: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
/// Ed25519 keys and signatures, 1.3.101.112.
const ED25519_ID: &[u8] = &[0x2b, 0x65, 0x70];
/// Maximum length of a name in a message, in characters.
const MAX_NAME_CHARS: usize = 200;

/// A certificate.
pub(super) struct TimestampCertificate<'a> {
    /// Its subject, for people.
    pub(super) subject: String,
    /// Whether its key may sign timestamps, and nothing else.
    pub(super) is_for_timestamps: bool,
    not_before: String,
    not_after: String,
    key_algorithm: &'a [u8],
    /// The curve of an elliptic curve key.
    curve: Option<&'a [u8]>,
    key: &'a [u8],
}

impl<'a> TimestampCertificate<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, LogError> {
        let mut certificate = DerCursor::new(bytes).sequence("the certificate is malformed")?;
        let mut body = certificate.sequence("the certificate is malformed")?;
        body.optional(tag::context(0))?;
        body.expect(tag::INTEGER_TAG, "the certificate has no serial number")?;
        body.algorithm()?;
        body.expect(tag::SEQUENCE_TAG, "the certificate has no issuer")?;
        let mut validity = body.sequence("the certificate has no validity")?;
        let (not_before, not_after) = (certificate_time(&mut validity)?, certificate_time(&mut validity)?);
        let subject = body.expect(tag::SEQUENCE_TAG, "the certificate has no subject")?;
        let mut key_info = body.sequence("the certificate has no key")?;
        let (key_algorithm, mut parameters) = key_info.algorithm()?;
        let curve = parameters.optional(tag::OBJECT_ID)?.map(|value| value.content);
        let key = key_info.expect(tag::BIT_STRING, "the certificate has no key")?.content;
        let key = key
            .strip_prefix(&[0])
            .ok_or_else(|| key_info.error("the key of the certificate is malformed"))?;
        // Unique ids, which nobody uses, precede the extensions.
        while body.peek().is_some_and(|found| found != tag::context(3)) {
            body.any()?;
        }
        let is_for_timestamps = match body.optional(tag::context(3))? {
            Some(extensions) => is_for_timestamps(extensions)?,
            None => false,
        };
        let subject = subject_text(subject)?;
        Ok(Self { subject, is_for_timestamps, not_before, not_after, key_algorithm, curve, key })
    }

    /// Whether a time, as digits, is between the times of the certificate.
    pub(super) fn is_valid_at(&self, time: &str) -> bool {
        let seconds = &time[..14];
        self.not_before.as_str() <= seconds && seconds <= self.not_after.as_str()
    }

    /// Verifies a signature.
    pub(super) fn verify(
        &self,
        signature_algorithm: &[u8],
        digest: &'static Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), LogError> {
        let unknown =
            LogError::Timestamp("the signature of the timestamp has an algorithm that is not supported");
        let algorithm = self.algorithm(signature_algorithm, digest).ok_or(unknown)?;
        let verified = UnparsedPublicKey::new(algorithm, self.key).verify(message, signature);
        verified.map_err(|_| LogError::Timestamp("the signature of the timestamp is wrong"))
    }

    fn algorithm(
        &self,
        signature_algorithm: &[u8],
        digest: &'static Algorithm,
    ) -> Option<&'static dyn VerificationAlgorithm> {
        let bits = digest.output_len() * 8;
        if self.key_algorithm.strip_prefix(RSA_ARC) == Some(&[1]) {
            // The signature names the digest, or only RSA; then it is that of the signer.
            return match (signature_algorithm.strip_prefix(RSA_ARC)?, bits) {
                ([1 | 11], 256) => Some(&RSA_PKCS1_2048_8192_SHA256),
                ([1 | 12], 384) => Some(&RSA_PKCS1_2048_8192_SHA384),
                ([1 | 13], 512) => Some(&RSA_PKCS1_2048_8192_SHA512),
                ([10], 256) => Some(&RSA_PSS_2048_8192_SHA256),
                ([10], 384) => Some(&RSA_PSS_2048_8192_SHA384),
                ([10], 512) => Some(&RSA_PSS_2048_8192_SHA512),
                _ => None,
            };
        }
        if self.key_algorithm == CURVE_KEY_ID {
            return match (self.curve?, signature_algorithm.strip_prefix(ECDSA_ARC)?, bits) {
                (P256_ID, [2], 256) => Some(&ECDSA_P256_SHA256_ASN1),
                (P256_ID, [3], 384) => Some(&ECDSA_P256_SHA384_ASN1),
                (P384_ID, [2], 256) => Some(&ECDSA_P384_SHA256_ASN1),
                (P384_ID, [3], 384) => Some(&ECDSA_P384_SHA384_ASN1),
                _ => None,
            };
        }
        (self.key_algorithm == ED25519_ID && signature_algorithm == ED25519_ID).then_some(&ED25519)
    }
}

/// A time of a certificate, as `YYYYMMDDHHMMSS`.
fn certificate_time(reader: &mut DerCursor<'_>) -> Result<String, LogError> {
    let malformed = reader.error("a time of the certificate is malformed");
    let value = reader.any()?;
    let digits = match value.tag {
        tag::GENERALIZED_TIME => parse_time(value.content),
        tag::UTC_TIME => {
            let century: &[u8] =
                if value.content.first().is_some_and(|digit| *digit >= b'5') { b"19" } else { b"20" };
            parse_time(&[century, value.content].concat())
        }
        _ => None,
    };
    digits.filter(|digits| digits.len() == 14).ok_or(malformed)
}

/// Whether the only purpose of the key is timestamps, as RFC 3161 requires.
fn is_for_timestamps(extensions: DerElement<'_>) -> Result<bool, LogError> {
    let mut list = extensions.reader().sequence("the extensions of the certificate are malformed")?;
    while !list.is_at_end() {
        let mut extension = list.sequence("an extension of the certificate is malformed")?;
        if extension.object_id()? != KEY_PURPOSE_ID {
            continue;
        }
        extension.optional(tag::BOOLEAN_TAG)?;
        let value = extension.expect(tag::OCTET_STRING, "an extension of the certificate is malformed")?;
        let mut purposes = value.reader().sequence("an extension of the certificate is malformed")?;
        let purpose = purposes.object_id()?;
        return Ok(purpose == TIMESTAMPING_ID && purposes.is_at_end());
    }
    Ok(false)
}

/// The common name and organization of a name.
fn subject_text(name: DerElement<'_>) -> Result<String, LogError> {
    let (mut common, mut organization) = (None, None);
    let mut parts = name.reader();
    while !parts.is_at_end() {
        let mut part = parts.expect(tag::SET_TAG, "the subject of the certificate is malformed")?.reader();
        let mut pair = part.sequence("the subject of the certificate is malformed")?;
        let id = pair.object_id()?;
        let value = pair.any()?;
        let text = String::from_utf8_lossy(value.content);
        let text: String = text.chars().filter(|letter| !letter.is_control()).take(MAX_NAME_CHARS).collect();
        match id {
            COMMON_NAME_ID => common = Some(text),
            ORGANIZATION_ID => organization = Some(text),
            _ => {}
        }
    }
    Ok(match (common, organization) {
        (Some(common), Some(organization)) => format!("{common} ({organization})"),
        (Some(name), None) | (None, Some(name)) => name,
        (None, None) => "an authority without a name".to_owned(),
    })
}
