//! Timestamps of a local authority made with `openssl ts`, with keys of every kind.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

use std::path::Path;
use std::process::Command;

use varve_testkit::{Requirement, skip};
use varve_tlog::{LogError, request_timestamp, verify_timestamp};

/// The settings of the authority. `DIGEST` is the digest of its signature.
const AUTHORITY_CONFIG: &str = "\
[req]
distinguished_name = name
prompt = no
[name]
CN = Test authority
O = Varve tests
[tsa_cert]
extendedKeyUsage = critical,timeStamping
[other_cert]
extendedKeyUsage = codeSigning
[tsa]
default_tsa = tsa_config
[tsa_config]
serial = ./serial
signer_digest = DIGEST
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
ess_cert_id_alg = ESS
";

/// Runs `openssl` in a folder. `None` if it is not installed.
fn openssl(folder: &Path, arguments: &str) -> Option<()> {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().ok()?;
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// The answer of an authority with a key of this kind to the request for a timestamp of `bytes`.
fn answer(
    folder: &Path,
    key: &str,
    (digest, ess): (&str, &str),
    extension: &str,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let config = AUTHORITY_CONFIG.replace("DIGEST", digest).replace("ESS", ess);
    std::fs::write(folder.join("tsa.cnf"), config).unwrap();
    std::fs::write(folder.join("request.tsq"), request_timestamp(bytes)).unwrap();
    let make = format!(
        "req -x509 -newkey {key} -nodes -keyout key.pem -out cert.pem -days 30 -config tsa.cnf -extensions {extension}"
    );
    openssl(folder, &make)?;
    std::fs::write(folder.join("serial"), "0A").unwrap();
    openssl(
        folder,
        "ts -reply -config tsa.cnf -queryfile request.tsq -signer cert.pem -inkey key.pem -out answer.tsr",
    )?;
    Some(std::fs::read(folder.join("answer.tsr")).unwrap())
}

#[test]
fn answers_of_an_authority_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    for (key, digest) in [
        ("rsa:2048", ("sha256", "sha1")),
        ("rsa:3072", ("sha512", "sha256")),
        ("ec -pkeyopt ec_paramgen_curve:P-256", ("sha256", "sha512")),
        ("ec -pkeyopt ec_paramgen_curve:P-384", ("sha384", "sha256")),
    ] {
        let Some(answer) = answer(folder.path(), key, digest, "tsa_cert", b"checkpoint") else {
            return skip(Requirement::Program("openssl"), "openssl is not installed");
        };
        let verified =
            verify_timestamp(&answer, b"checkpoint").unwrap_or_else(|error| panic!("{key}: {error}"));
        assert_eq!(
            (verified.authority.as_str(), verified.serial.as_str()),
            ("Test authority (Varve tests)", "0b")
        );
        assert!(verified.time.starts_with("20") && verified.time.ends_with('Z'), "{}", verified.time);
        let other = verify_timestamp(&answer, b"Checkpoint").unwrap_err();
        assert_eq!(other.to_string(), "the timestamp is of other bytes");
    }
}

#[test]
fn a_changed_answer_is_refused_or_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let key = "ec -pkeyopt ec_paramgen_curve:P-256";
    let Some(answer) = answer(folder.path(), key, ("sha256", "sha256"), "tsa_cert", b"checkpoint") else {
        return skip(Requirement::Program("openssl"), "openssl is not installed");
    };
    let honest = verify_timestamp(&answer, b"checkpoint").unwrap();
    for at in 0..answer.len() {
        for bit in 0..8 {
            let mut changed = answer.clone();
            changed[at] ^= 1 << bit;
            if let Ok(verified) = verify_timestamp(&changed, b"checkpoint") {
                // Outside of the signature are the status, version numbers and names of algorithms.
                assert_eq!(verified, honest, "byte {at}, bit {bit}");
            }
        }
        assert!(verify_timestamp(&answer[..at], b"checkpoint").is_err());
    }
    assert!(matches!(
        verify_timestamp(&[answer, vec![0]].concat(), b"checkpoint"),
        Err(LogError::Der { .. })
    ));
}

#[test]
fn a_certificate_for_other_purposes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = "ec -pkeyopt ec_paramgen_curve:P-256";
    // openssl refuses to sign with such a certificate, so the answer gets the certificate afterwards.
    let Some(answer) = answer(folder.path(), key, ("sha256", "sha256"), "tsa_cert", b"checkpoint") else {
        return skip(Requirement::Program("openssl"), "openssl is not installed");
    };
    let purpose = [0x2b, 6, 1, 5, 5, 7, 3, 8];
    let at = answer.windows(8).position(|bytes| bytes == purpose).unwrap();
    let mut changed = answer;
    changed[at + 7] = 3;
    // The digest of the certificate is signed.
    let error = verify_timestamp(&changed, b"checkpoint").unwrap_err();
    assert_eq!(error.to_string(), "the answer does not have the certificate of its signer");
}

#[test]
fn hostile_der_is_refused_with_its_place() {
    for (bytes, message) in [
        (&b""[..], "the answer does not begin with a sequence (byte 0)"),
        (&[0x30, 0x80, 0, 0], "a length is indefinite or too large (byte 0)"),
        (&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], "a value is cut off (byte 0)"),
        (&[0x30, 0x81, 0x01, 0x00], "a length is not in its shortest form (byte 0)"),
        (&[0x30, 0x03, 0x30, 0x05, 0x02], "a value is cut off (byte 2)"),
    ] {
        let error = verify_timestamp(bytes, b"").unwrap_err().to_string();
        assert_eq!(error, format!("not an RFC 3161 answer: {message}"));
    }
    let refused = verify_timestamp(&[0x30, 0x05, 0x30, 0x03, 0x02, 0x01, 0x02], b"").unwrap_err();
    assert!(matches!(refused, LogError::TimestampRefused(2)));
    assert!(verify_timestamp(&vec![0x30; 200_000], b"").is_err());
}
