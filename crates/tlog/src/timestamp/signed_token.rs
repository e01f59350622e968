//! The signed data of CMS (RFC 5652) around a timestamp: finds the signer's certificate and verifies
//! the signature.

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA384, SHA512, digest};

use super::SHA256_ID;
use super::certificate::TimestampCertificate;
use super::der::{DerCursor, DerElement, tag};
use crate::LogError;

/// Signed data, 1.2.840.113549.1.7.2.
const SIGNED_DATA_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
/// A timestamp, 1.2.840.113549.1.9.16.1.4.
const TIMESTAMP_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];
/// The attribute with the type of the content, 1.2.840.113549.1.9.3.
const CONTENT_TYPE_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
/// The attribute with the digest of the content, 1.2.840.113549.1.9.4.
const MESSAGE_DIGEST_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
/// The attribute with the SHA-1 of the certificate, 1.2.840.113549.1.9.16.2.12.
const CERTIFICATE_V1_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x02, 0x0c];
/// The attribute with another digest of the certificate, 1.2.840.113549.1.9.16.2.47.
const CERTIFICATE_V2_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x02, 0x2f];
/// SHA-384, 2.16.840.1.101.3.4.2.2.
const SHA384_ID: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
/// SHA-512, 2.16.840.1.101.3.4.2.3.
const SHA512_ID: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];
/// Maximum number of certificates in an answer.
const MAX_CERTIFICATES: usize = 16;

/// A timestamp with the signature of one signer.
pub(super) struct SignedToken<'a> {
    /// The signed bytes.
    pub(super) content: &'a [u8],
    certificates: Vec<&'a [u8]>,
    digest: &'static Algorithm,
    /// The signed attributes, as a set.
    attributes: Vec<u8>,
    message_digest: &'a [u8],
    certificate_digest: (&'static Algorithm, &'a [u8]),
    signature_algorithm: &'a [u8],
    signature: &'a [u8],
}

impl<'a> SignedToken<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, LogError> {
        let mut reader = DerCursor::new(bytes);
        let mut outer = reader.sequence("the timestamp is not signed data")?;
        if outer.object_id()? != SIGNED_DATA_ID {
            return Err(outer.error("the timestamp is not signed data"));
        }
        let mut wrapped = outer.expect(tag::context(0), "the signed data is missing")?.reader();
        let mut data = wrapped.sequence("the signed data is missing")?;
        data.number()?;
        data.expect(tag::SET_TAG, "the digest algorithms are missing")?;
        let mut content = data.sequence("the content is missing")?;
        if content.object_id()? != TIMESTAMP_ID {
            return Err(content.error("the content is no timestamp"));
        }
        let mut content = content.expect(tag::context(0), "the content is missing")?.reader();
        let content = content.expect(tag::OCTET_STRING, "the content is missing")?.content;
        let certificates = match data.optional(tag::context(0))? {
            Some(set) => parse_certificates(set)?,
            None => Vec::new(),
        };
        data.optional(tag::context(1))?;
        let mut signers = data.expect(tag::SET_TAG, "the signer is missing")?.reader();
        let signer = signers.sequence("the signer is missing")?;
        if !signers.is_at_end() {
            return Err(signers.error("a timestamp has one signer"));
        }
        Self::with_signer(content, certificates, signer)
    }

    fn with_signer(
        content: &'a [u8],
        certificates: Vec<&'a [u8]>,
        mut signer: DerCursor<'a>,
    ) -> Result<Self, LogError> {
        signer.number()?;
        // The issuer and serial number, or the key id: the certificate is found by its digest.
        signer.any()?;
        let (algorithm, _) = signer.algorithm()?;
        let digest = digest_algorithm(algorithm)?;
        let attributes = signer.expect(tag::context(0), "the signed attributes are missing")?;
        let (signature_algorithm, _) = signer.algorithm()?;
        let signature = signer.expect(tag::OCTET_STRING, "the signature is missing")?.content;
        let SignedAttributes { message_digest, certificate_digest } = SignedAttributes::parse(attributes)?;
        // They are signed with the tag of a set, and stored with another.
        let mut attributes = attributes.whole.to_vec();
        attributes[0] = tag::SET_TAG;
        Ok(Self {
            content,
            certificates,
            digest,
            attributes,
            message_digest,
            certificate_digest,
            signature_algorithm,
            signature,
        })
    }

    /// The certificate that the signed attributes name by its digest.
    pub(super) fn signer_certificate(&self) -> Result<&'a [u8], LogError> {
        let (algorithm, wanted) = self.certificate_digest;
        let mut found = self.certificates.iter().copied();
        let missing = LogError::Timestamp("the answer does not have the certificate of its signer");
        found.find(|certificate| digest(algorithm, certificate).as_ref() == wanted).ok_or(missing)
    }

    /// Verifies the digest of the content and the signature.
    pub(super) fn verify_signature(&self, certificate: &TimestampCertificate<'_>) -> Result<(), LogError> {
        if digest(self.digest, self.content).as_ref() != self.message_digest {
            return Err(LogError::Timestamp("the timestamp was changed after it was signed"));
        }
        certificate.verify(self.signature_algorithm, self.digest, &self.attributes, self.signature)
    }
}

/// What a timestamp needs of the signed attributes.
struct SignedAttributes<'a> {
    message_digest: &'a [u8],
    certificate_digest: (&'static Algorithm, &'a [u8]),
}

impl<'a> SignedAttributes<'a> {
    fn parse(attributes: DerElement<'a>) -> Result<Self, LogError> {
        let (mut message_digest, mut by_sha1, mut by_other, mut has_type) = (None, None, None, false);
        let mut reader = attributes.reader();
        while !reader.is_at_end() {
            let mut attribute = reader.sequence("a signed attribute is malformed")?;
            let id = attribute.object_id()?;
            let mut values = attribute.expect(tag::SET_TAG, "a signed attribute has no value")?.reader();
            match id {
                CONTENT_TYPE_ID => has_type = values.object_id()? == TIMESTAMP_ID,
                MESSAGE_DIGEST_ID => {
                    message_digest = Some(values.expect(tag::OCTET_STRING, "the digest is missing")?.content);
                }
                CERTIFICATE_V1_ID => by_sha1 = Some(certificate_digest(values, &SHA1_FOR_LEGACY_USE_ONLY)?),
                CERTIFICATE_V2_ID => by_other = Some(certificate_digest(values, &SHA256)?),
                _ => {}
            }
        }
        let incomplete = || LogError::Timestamp("the signature does not cover what RFC 3161 requires");
        Ok(Self {
            message_digest: message_digest.filter(|_| has_type).ok_or_else(incomplete)?,
            certificate_digest: by_other.or(by_sha1).ok_or_else(incomplete)?,
        })
    }
}

/// The digest of the first certificate in the attribute that names certificates.
fn certificate_digest<'a>(
    mut values: DerCursor<'a>,
    default: &'static Algorithm,
) -> Result<(&'static Algorithm, &'a [u8]), LogError> {
    const MISSING_DIGEST: &str = "the digest of the certificate is missing";
    let mut names = values.sequence(MISSING_DIGEST)?.sequence(MISSING_DIGEST)?.sequence(MISSING_DIGEST)?;
    let algorithm = match names.peek() {
        Some(tag::SEQUENCE_TAG) => digest_algorithm(names.algorithm()?.0)?,
        _ => default,
    };
    Ok((algorithm, names.expect(tag::OCTET_STRING, MISSING_DIGEST)?.content))
}

fn digest_algorithm(id: &[u8]) -> Result<&'static Algorithm, LogError> {
    match id {
        SHA256_ID => Ok(&SHA256),
        SHA384_ID => Ok(&SHA384),
        SHA512_ID => Ok(&SHA512),
        _ => Err(LogError::Timestamp("the timestamp uses a digest other than SHA-256, SHA-384 and SHA-512")),
    }
}

fn parse_certificates(set: DerElement<'_>) -> Result<Vec<&[u8]>, LogError> {
    let (mut reader, mut certificates) = (set.reader(), Vec::new());
    while !reader.is_at_end() {
        let certificate = reader.any()?;
        if certificate.tag == tag::SEQUENCE_TAG {
            certificates.push(certificate.whole);
        }
        if certificates.len() > MAX_CERTIFICATES {
            return Err(reader.error("the answer has too many certificates"));
        }
    }
    Ok(certificates)
}
