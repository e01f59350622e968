//! TLS: trusted roots, offered protocols, and the negotiated parameters.
//!
//! The platform's roots are trusted, or Mozilla's where the platform has none, and those that the
//! caller adds. A certificate that was added may also be the server's own, though it claims to be
//! an authority, as `openssl req -x509` makes them. Only HTTP/1.1 is offered at first, because it
//! can be recorded byte for byte. HTTP/2 is offered only after a server has refused that.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::{FetchError, FetchErrorKind};
use crate::request_target::ServerOrigin;

/// Roots that a caller adds cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// The text is not PEM.
    #[error("the additional root certificates are not PEM")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// There is no certificate in it.
    #[error("there is no certificate among the additional root certificates")]
    Empty,
    /// A certificate in it cannot be a root.
    #[error("an additional root certificate cannot be used")]
    Certificate(#[source] rustls::Error),
    /// The TLS library offers no protocol version.
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
    /// There are no roots.
    #[error("no root certificate can be used")]
    Roots(#[source] rustls::client::VerifierBuilderError),
}

/// The TLS client, for each protocol that it offers.
pub(crate) struct Tls {
    http1: TlsConnector,
    http2: TlsConnector,
}

impl Tls {
    /// Trusts the platform, and the certificates of a PEM text.
    pub(crate) fn new(additional_roots: Option<&[u8]>) -> Result<Self, RootsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let added = parse_roots(additional_roots)?;
        let roots = Arc::new(trusted_roots(&added)?);
        let usual = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
        let verifier = Arc::new(Trust { usual: usual.map_err(RootsError::Roots)?, added });
        let connector = |protocol: &[u8]| -> Result<TlsConnector, RootsError> {
            let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .map_err(RootsError::Setup)?
                .dangerous()
                .with_custom_certificate_verifier(Arc::clone(&verifier) as Arc<dyn ServerCertVerifier>)
                .with_no_client_auth();
            config.alpn_protocols = vec![protocol.to_vec()];
            Ok(Arc::new(config).into())
        };
        Ok(Self { http1: connector(b"http/1.1")?, http2: connector(b"h2")? })
    }

    /// Makes the handshake. None if HTTP/1.1 was offered and the server supports only HTTP/2.
    pub(crate) async fn agree(
        &self,
        stream: TcpStream,
        origin: &ServerOrigin,
        http2: bool,
    ) -> Result<Option<TlsStream<TcpStream>>, FetchError> {
        let refuse = || {
            FetchError::new(FetchErrorKind::Tls, format!("the TLS handshake with `{}` failed", origin.host))
        };
        let name =
            ServerName::try_from(origin.bare_host().to_owned()).map_err(|error| refuse().because(error))?;
        let connector = if http2 { &self.http2 } else { &self.http1 };
        let error = match connector.connect(name, stream).await {
            Ok(stream) => return Ok(Some(stream)),
            Err(error) => error,
        };
        match error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>()) {
            Some(
                rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)
                | rustls::Error::NoApplicationProtocol,
            ) if !http2 => Ok(None),
            Some(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)) => {
                let sentence = format!("`{}` does not speak TLS there", origin.host_and_port());
                Err(FetchError::new(FetchErrorKind::NoTls, sentence))
            }
            Some(rustls::Error::InvalidCertificate(problem)) => {
                let (kind, why) = distrust(problem);
                Err(FetchError::new(kind, format!("`{}` is not trusted: {why}", origin.host)))
            }
            _ => Err(refuse().because(error)),
        }
    }
}

/// Why a certificate is not accepted.
fn distrust(problem: &CertificateError) -> (FetchErrorKind, String) {
    let (kind, why) = match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            (FetchErrorKind::Expired, "its certificate has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            (FetchErrorKind::Expired, "its certificate is not valid yet")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            (FetchErrorKind::Name, "its certificate is for another name")
        }
        CertificateError::Revoked => (FetchErrorKind::Tls, "its certificate was revoked"),
        // `Other` includes self-signed certificates.
        CertificateError::UnknownIssuer | CertificateError::Other(_) => {
            (FetchErrorKind::Issuer, "the issuer of its certificate is not known")
        }
        other => return (FetchErrorKind::Tls, format!("its certificate is not accepted ({other})")),
    };
    (kind, why.to_owned())
}

/// The certificates of a PEM text.
fn parse_roots(pem: Option<&[u8]>) -> Result<Vec<CertificateDer<'static>>, RootsError> {
    let Some(pem) = pem else { return Ok(Vec::new()) };
    let added: Vec<_> =
        CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(RootsError::Pem)?;
    if added.is_empty() { Err(RootsError::Empty) } else { Ok(added) }
}

/// The roots of the platform, or those of Mozilla, and the added ones.
fn trusted_roots(added: &[CertificateDer<'static>]) -> Result<RootCertStore, RootsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for certificate in added {
        roots.add(certificate.clone()).map_err(RootsError::Certificate)?;
    }
    Ok(roots)
}

/// Verifies as usual, and accepts a server whose own certificate was added.
#[derive(Debug)]
struct Trust {
    usual: Arc<WebPkiServerVerifier>,
    added: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let usual = self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match usual {
            // `Other` includes self-signed authorities. Their validity period was checked before;
            // their name is checked here.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if self.added.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// The negotiated version, as WARC names it.
pub(crate) fn version(connection: &ClientConnection) -> &'static str {
    match connection.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "tls/1.2",
        _ => "tls/1.3",
    }
}

/// The registered name of the negotiated cipher suite.
pub(crate) fn cipher(connection: &ClientConnection) -> Option<String> {
    let suite = connection.negotiated_cipher_suite()?.suite();
    Some(suite.as_str()?.replacen("TLS13_", "TLS_", 1))
}
