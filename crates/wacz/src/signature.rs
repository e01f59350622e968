//! The signature of a package, as wacz-auth 0.1.0 describes it.
//!
//! A package is signed by a key alone, or in the name of a domain by the key of its TLS certificate.
//! The signature is of the text of the digest of `datapackage.json`. The certificate must have been
//! valid for the domain when the package says that it was signed, under a root that browsers trust.
//! The RFC 3161 timestamp that proves this time holds no certificate and is not verified.

use data_encoding::BASE64;
use ring::signature::{ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, UnparsedPublicKey};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, SignatureVerificationAlgorithm, UnixTime};
use serde::Deserialize;
use webpki::{EndEntityCert, KeyUsage};

/// Maximum number of certificates in a chain.
const MAX_CERTIFICATES: usize = 8;

/// A key of the curve P-256 as `SubjectPublicKeyInfo`, up to the point.
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// A key of the curve P-384 as `SubjectPublicKeyInfo`, up to the point.
const P384_PREFIX: [u8; 23] = [
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81,
    0x04, 0x00, 0x22, 0x03, 0x62, 0x00,
];

/// The algorithms of certificates and of signatures by their keys.
const CERTIFICATE_ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 6] = [
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P256_SHA384,
    webpki::ring::ECDSA_P384_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
    webpki::ring::RSA_PKCS1_2048_8192_SHA256,
    webpki::ring::RSA_PKCS1_2048_8192_SHA384,
];

/// Who signed a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageSigner {
    /// The owner of a key, in base64.
    Key(String),
    /// The owner of a domain.
    Domain(String),
}

/// A signature that is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageSignature {
    /// Who signed.
    pub signer: PackageSigner,
    /// When, as the package says.
    pub created: String,
}

/// `signedData`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedData {
    hash: String,
    signature: String,
    created: String,
    public_key: Option<String>,
    domain: Option<String>,
    domain_cert: Option<String>,
}

/// Verifies `signedData` of a package whose `datapackage.json` has the digest `hash`.
pub(crate) fn verify_signature(
    signed_data: &serde_json::Value,
    hash: &str,
) -> Result<PackageSignature, &'static str> {
    let data = SignedData::deserialize(signed_data).map_err(|_| "the signature lacks a field")?;
    if data.hash != hash {
        return Err("the signature is of another digest");
    }
    let signature = BASE64.decode(data.signature.as_bytes()).map_err(|_| "the signature is not base64")?;
    let signer = match (&data.public_key, &data.domain, &data.domain_cert) {
        (Some(key), _, _) => {
            verify_by_key(key, hash, &signature)?;
            PackageSigner::Key(key.clone())
        }
        (None, Some(domain), Some(chain)) => {
            verify_by_domain(domain, chain, &data.created, hash, &signature)?;
            PackageSigner::Domain(domain.clone())
        }
        _ => return Err("the signature names neither a key nor a domain"),
    };
    Ok(PackageSignature { signer, created: data.created })
}

fn verify_by_key(key: &str, hash: &str, signature: &[u8]) -> Result<(), &'static str> {
    let key = BASE64.decode(key.as_bytes()).map_err(|_| "the key of the signature is not base64")?;
    let (algorithm, point, half) = if let Some(point) = key.strip_prefix(&P384_PREFIX) {
        (&ECDSA_P384_SHA256_ASN1, point, 48)
    } else if let Some(point) = key.strip_prefix(&P256_PREFIX) {
        (&ECDSA_P256_SHA256_ASN1, point, 32)
    } else {
        return Err("the key of the signature is of no supported curve");
    };
    // Browsers write both numbers one after the other, other programs write DER.
    let der = if signature.len() == 2 * half { der_of(signature, half) } else { signature.to_vec() };
    let verified = UnparsedPublicKey::new(algorithm, point).verify(hash.as_bytes(), &der);
    verified.map_err(|_| "the signature is wrong")
}

/// The two numbers of a signature as a DER sequence.
fn der_of(signature: &[u8], half: usize) -> Vec<u8> {
    let (first, second) = signature.split_at(half.min(signature.len()));
    let numbers: Vec<u8> = [first, second].into_iter().flat_map(der_number).collect();
    // At most 2 × 51 bytes, so the length takes one byte.
    [vec![0x30, numbers.len() as u8], numbers].concat()
}

fn der_number(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = &bytes[zeros.min(bytes.len().saturating_sub(1))..];
    let sign: &[u8] = if digits.first().is_some_and(|byte| byte & 0x80 != 0) { &[0] } else { &[] };
    [&[0x02, (sign.len() + digits.len()) as u8], sign, digits].concat()
}

fn verify_by_domain(
    domain: &str,
    chain: &str,
    created: &str,
    hash: &str,
    signature: &[u8],
) -> Result<(), &'static str> {
    let certificates: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(chain.as_bytes()).take(MAX_CERTIFICATES).collect();
    let certificates = certificates.map_err(|_| "the certificate of the domain cannot be read")?;
    let (leaf, intermediates) = certificates.split_first().ok_or("there is no certificate of the domain")?;
    let leaf = EndEntityCert::try_from(leaf).map_err(|_| "the certificate of the domain cannot be read")?;
    let is_signed = CERTIFICATE_ALGORITHMS
        .iter()
        .any(|algorithm| leaf.verify_signature(*algorithm, hash.as_bytes(), signature).is_ok());
    if !is_signed {
        return Err("the signature is wrong");
    }
    let name = ServerName::try_from(domain).map_err(|_| "the domain of the signature is no name")?;
    leaf.verify_is_valid_for_subject_name(&name).map_err(|_| "the certificate is of another domain")?;
    let created = chrono::DateTime::parse_from_rfc3339(created).map_err(|_| "its time cannot be read")?;
    let seconds = u64::try_from(created.timestamp()).map_err(|_| "its time cannot be read")?;
    let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    let roots = webpki_roots::TLS_SERVER_ROOTS;
    let usage = KeyUsage::server_auth();
    leaf.verify_for_usage(&CERTIFICATE_ALGORITHMS, roots, intermediates, time, usage, None, None)
        .map(drop)
        .map_err(|_| "the certificate of the domain was not valid then, or is of no trusted authority")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_signature_become_der() {
        assert_eq!(der_of(&[0, 1, 0x80, 2], 2), [0x30, 8, 2, 1, 1, 2, 3, 0, 0x80, 2]);
        assert_eq!(der_of(&[0, 0, 0, 0], 2), [0x30, 6, 2, 1, 0, 2, 1, 0]);
    }

    #[test]
    fn a_key_signs_one_digest() {
        use ring::rand::SystemRandom;
        use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        let key = BASE64.encode(&[&P256_PREFIX[..], pair.public_key().as_ref()].concat());
        let signature = BASE64.encode(pair.sign(&random, b"sha256:00").unwrap().as_ref());
        let data = serde_json::json!({
            "hash": "sha256:00", "signature": signature, "publicKey": key, "created": "2026-01-01T00:00:00Z",
        });
        let verified = verify_signature(&data, "sha256:00").unwrap();
        assert_eq!(verified.signer, PackageSigner::Key(key));
        assert_eq!(verify_signature(&data, "sha256:01"), Err("the signature is of another digest"));
        let mut other = data.clone();
        other["hash"] = "sha256:01".into();
        assert_eq!(verify_signature(&other, "sha256:01"), Err("the signature is wrong"));
        other["publicKey"] = "AAAA".into();
        assert!(verify_signature(&other, "sha256:01").is_err());
        assert!(verify_signature(&serde_json::json!([]), "sha256:01").is_err());
    }
}
