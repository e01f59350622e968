//! The certificate authority of the proxy: its key, its certificate, and the certificates of hosts.
//!
//! There are two kinds. The one of a user is made at first use and kept in the folder of the user's
//! settings, never in an archive, because archives are copied and published; its file is readable
//! by its owner alone. The one of a session exists in memory only, and is trusted by one browser
//! profile. Neither is constrained to names: the hosts that a user will visit are not known when
//! the certificate is trusted.
//!
//! All certificates of hosts share one key, which lives as long as the process, so making one costs
//! one signature.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use data_encoding::{BASE64, HEXLOWER};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};
use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::sign::CertifiedKey;
use time::{Duration, OffsetDateTime};
use varve_file::NewFile;

/// The file of the authority in the folder of settings: certificate and key.
const AUTHORITY_FILE: &str = "proxy-ca.pem";

/// How long an authority is valid, in days.
const AUTHORITY_DAYS: i64 = 5 * 365;

/// How long the certificate of a host is valid, in days. Some systems accept no more than 398.
const HOST_DAYS: i64 = 365;

/// Certificates are valid from this many days before they were made, for clients whose clock is
/// behind.
const BACKDATED_DAYS: i64 = 2;

/// Maximum number of certificates of hosts in memory.
const MAX_CACHED_HOSTS: usize = 2000;

/// An authority could not be made, read or stored.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A certificate or a key could not be made.
    #[error("the certificate authority cannot make a certificate")]
    Make(#[source] rcgen::Error),
    /// No certificate can be made for this.
    #[error("{0:?} is no name of a host")]
    Host(String),
    /// The key cannot be used by the TLS library.
    #[error("the key of a certificate cannot be used")]
    Key(#[source] rustls::Error),
    /// The file cannot be read or written.
    #[error("could not access `{path}`")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds no authority.
    #[error("`{0}` holds no certificate and key of a certificate authority")]
    Invalid(PathBuf),
    /// Others than its owner can read the file.
    #[error("`{0}` can be read by others than its owner")]
    Readable(PathBuf),
}

/// A certificate authority.
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    fingerprint: String,
    host_key: KeyPair,
    hosts: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl CertificateAuthority {
    /// An authority for one session, which is not stored.
    pub fn for_session() -> Result<Self, AuthorityError> {
        Self::create(KeyPair::generate().map_err(AuthorityError::Make)?)
    }

    /// The authority of a user, which is made if there is none.
    pub fn open_or_create(folder: &Path) -> Result<Self, AuthorityError> {
        let path = folder.join(AUTHORITY_FILE);
        let failed = |source| AuthorityError::File { path: path.clone(), source };
        match fs::metadata(&path) {
            Ok(_) => return Self::open(&path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let made = Self::for_session()?;
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let mut file = NewFile::new_in(folder).map_err(failed)?;
        file.as_file().set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
        let text = format!("{}{}", made.certificate_pem(), made.issuer.key().serialize_pem());
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        match file.persist_noclobber(&path) {
            Ok(()) => Ok(made),
            // Another process was faster.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Self::open(&path),
            Err(error) => Err(failed(error.error)),
        }
    }

    fn open(path: &Path) -> Result<Self, AuthorityError> {
        let failed = |source| AuthorityError::File { path: path.to_owned(), source };
        if fs::metadata(path).map_err(failed)?.mode() & 0o077 != 0 {
            return Err(AuthorityError::Readable(path.to_owned()));
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        let invalid = || AuthorityError::Invalid(path.to_owned());
        let certificate = CertificateDer::from_pem_slice(text.as_bytes()).map_err(|_| invalid())?;
        let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| invalid())?;
        let key = KeyPair::try_from(&key).map_err(|_| invalid())?;
        Self::new(key, certificate)
    }

    fn create(key: KeyPair) -> Result<Self, AuthorityError> {
        let certificate = authority_params(&key).self_signed(&key).map_err(AuthorityError::Make)?;
        Self::new(key, certificate.into())
    }

    fn new(key: KeyPair, certificate: CertificateDer<'static>) -> Result<Self, AuthorityError> {
        let fingerprint = BASE64.encode(key_digest(&key).as_ref());
        let host_key = KeyPair::generate().map_err(AuthorityError::Make)?;
        let issuer = Issuer::new(authority_params(&key), key);
        Ok(Self { issuer, certificate, fingerprint, host_key, hosts: Mutex::default() })
    }

    /// The certificate to trust, as PEM.
    pub fn certificate_pem(&self) -> String {
        let lines: Vec<String> = BASE64
            .encode(&self.certificate)
            .as_bytes()
            .chunks(64)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    }

    /// The certificate to trust, as DER.
    pub fn certificate_der(&self) -> &[u8] {
        &self.certificate
    }

    /// The SHA-256 of the public key in Base64, as `--ignore-certificate-errors-spki-list` of
    /// Chromium takes it.
    pub fn key_fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The certificate of a host, with its key.
    pub(crate) fn certificate_for(&self, host: &str) -> Result<Arc<CertifiedKey>, AuthorityError> {
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        if let Some(known) = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).get(&host) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(self.make_certificate(&host)?);
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_CACHED_HOSTS {
            hosts.clear();
        }
        hosts.insert(host, Arc::clone(&made));
        Ok(made)
    }

    fn make_certificate(&self, host: &str) -> Result<CertifiedKey, AuthorityError> {
        // A certificate can name what no client accepts as a host, such as a name with a NUL.
        ServerName::try_from(host).map_err(|_| AuthorityError::Host(host.to_owned()))?;
        let mut params = CertificateParams::new(vec![host.to_owned()]).map_err(AuthorityError::Make)?;
        set_validity(&mut params, HOST_DAYS);
        // A common name has 64 characters at most; clients use the alternative name.
        let name = if host.len() <= 64 && host.parse::<IpAddr>().is_err() { host } else { "varve" };
        params.distinguished_name.push(DnType::CommonName, name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&self.host_key, &self.issuer).map_err(AuthorityError::Make)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.host_key.serialize_der()));
        let key = rustls::crypto::ring::sign::any_supported_type(&key).map_err(AuthorityError::Key)?;
        Ok(CertifiedKey::new(vec![certificate.into(), self.certificate.clone()], key))
    }
}

/// The parameters of the certificate of an authority. They follow from its key, except for the time.
fn authority_params(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    set_validity(&mut params, AUTHORITY_DAYS);
    let number = HEXLOWER.encode(&key_digest(key).as_ref()[..4]);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("varve recording proxy {number}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn set_validity(params: &mut CertificateParams, days: i64) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - Duration::days(BACKDATED_DAYS);
    params.not_after = now + Duration::days(days);
}

fn key_digest(key: &KeyPair) -> ring::digest::Digest {
    digest(&SHA256, &key.subject_public_key_info())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::UnixTime;

    fn is_trusted(
        authority: &CertificateAuthority,
        by: &CertificateAuthority,
        host: &str,
        name: &str,
    ) -> bool {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(by.certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let made = authority.certificate_for(host).unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier.verify_server_cert(&made.cert[0], &made.cert[1..], &name, &[], UnixTime::now()).is_ok()
    }

    #[test]
    fn a_client_that_trusts_the_authority_accepts_its_hosts_and_no_other_authority() {
        let (ours, other) =
            (CertificateAuthority::for_session().unwrap(), CertificateAuthority::for_session().unwrap());
        for host in ["example.com", "EXAMPLE.com", "127.0.0.1", "::1", "xn--bcher-kva.example"] {
            assert!(is_trusted(&ours, &ours, host, &host.to_ascii_lowercase()), "{host}");
            assert!(!is_trusted(&ours, &other, host, &host.to_ascii_lowercase()), "{host}");
        }
        assert!(is_trusted(&ours, &ours, "[::1]", "::1"));
        assert!(!is_trusted(&ours, &ours, "example.com", "www.example.com"));
        let long = format!("{}.example", "a".repeat(63));
        assert!(is_trusted(&ours, &ours, &long, &long));
        for wrong in ["ä.example", "a\0b"] {
            assert!(matches!(ours.certificate_for(wrong), Err(AuthorityError::Host(_))), "{wrong:?}");
        }
    }

    #[test]
    fn the_authority_of_a_user_is_made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("varve");
        let made = CertificateAuthority::open_or_create(&settings).unwrap();
        let path = settings.join(AUTHORITY_FILE);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let again = CertificateAuthority::open_or_create(&settings).unwrap();
        assert_eq!(made.certificate_pem(), again.certificate_pem());
        assert_eq!(made.key_fingerprint(), again.key_fingerprint());
        assert!(is_trusted(&again, &made, "example.com", "example.com"));
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let refused = CertificateAuthority::open_or_create(&settings);
        assert!(matches!(refused, Err(AuthorityError::Readable(_))));
        fs::write(&path, "nothing").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let refused = CertificateAuthority::open_or_create(&settings);
        assert!(matches!(refused, Err(AuthorityError::Invalid(_))));
    }
}
