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
    /// There is nothing to agree on with any server.
    #[error("encryption cannot be set up")]
    Setup(#[source] rustls::Error),
    /// There is nobody to trust.
    #[error("no root certificate can be used")]
    Roots(#[source] rustls::client::VerifierBuilderError),
}

/// How to agree on encryption.
#[derive(Clone)]
pub(crate) struct Tls {
    first: TlsConnector,
    second: TlsConnector,
}

/// What became of an attempt.
pub(crate) enum Handshake {
    Agreed(Box<TlsStream<TcpStream>>),
    /// The server speaks no HTTP/1.1.
    WantsHttp2,
}

impl Tls {
    /// Trusts the platform, and the certificates of a PEM text.
    pub(crate) fn new(additional_roots: Option<&[u8]>) -> Result<Self, RootsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let given = given(additional_roots)?;
        let roots = Arc::new(roots(&given)?);
        let usual = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
        let verifier = Arc::new(Trust { usual: usual.map_err(RootsError::Roots)?, given });
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
        Ok(Self { first: connector(b"http/1.1")?, second: connector(b"h2")? })
    }

    pub(crate) async fn agree(
        &self,
        stream: TcpStream,
        origin: &ServerOrigin,
        http2: bool,
    ) -> Result<Handshake, FetchError> {
        let refuse = || {
            FetchError::new(
                FetchErrorKind::Tls,
                format!("no encryption could be agreed on with `{}`", origin.host),
            )
        };
        let name =
            ServerName::try_from(origin.bare_host().to_owned()).map_err(|error| refuse().because(error))?;
        let connector = if http2 { &self.second } else { &self.first };
        match connector.connect(name, stream).await {
            Ok(stream) => Ok(Handshake::Agreed(Box::new(stream))),
            Err(error) if !http2 && refuses_http1(&error) => Ok(Handshake::WantsHttp2),
            Err(error) if is_no_tls(&error) => Err(FetchError::new(
                FetchErrorKind::NoTls,
                format!("`{}` does not speak TLS there", origin.host_and_port()),
            )),
            Err(error) => Err(match distrust(&error) {
                Some((kind, why)) => {
                    FetchError::new(kind, format!("`{}` is not trusted: {why}", origin.host))
                }
                None => refuse().because(error),
            }),
        }
    }
}

/// Whether the first bytes of a server were no TLS at all.
fn is_no_tls(error: &std::io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)))
}

/// What is wrong with the certificate of a server, if that is why there is no connection.
fn distrust(error: &std::io::Error) -> Option<(FetchErrorKind, String)> {
    let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let rustls::Error::InvalidCertificate(problem) = inner else { return None };
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
        // Among the others is that a certificate speaks for itself.
        CertificateError::UnknownIssuer | CertificateError::Other(_) => {
            (FetchErrorKind::Issuer, "no authority that is known stands for its certificate")
        }
        other => return Some((FetchErrorKind::Tls, format!("its certificate is not accepted ({other})"))),
    };
    Some((kind, why.to_owned()))
}

/// The certificates of a PEM text.
fn given(pem: Option<&[u8]>) -> Result<Vec<CertificateDer<'static>>, RootsError> {
    let Some(pem) = pem else { return Ok(Vec::new()) };
    let given: Vec<_> =
        CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(RootsError::Pem)?;
    if given.is_empty() { Err(RootsError::Empty) } else { Ok(given) }
}

fn roots(given: &[CertificateDer<'static>]) -> Result<RootCertStore, RootsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for certificate in given {
        roots.add(certificate.clone()).map_err(RootsError::Certificate)?;
    }
    Ok(roots)
}

/// Trusts as usual, and a server whose own certificate was given.
#[derive(Debug)]
struct Trust {
    usual: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
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
            // Among the complaints without a name of their own is that an authority speaks for
            // itself. Its age was looked at before that; its name is looked at here.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if self.given.contains(end_entity) =>
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

fn refuses_http1(error: &std::io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(
        cause,
        Some(
            rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)
                | rustls::Error::NoApplicationProtocol
        )
    )
}

/// The name of the version that was agreed on, as WARC has it.
pub(crate) fn version(connection: &ClientConnection) -> &'static str {
    match connection.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "tls/1.2",
        _ => "tls/1.3",
    }
}

/// The registered name of the cipher suite that was agreed on.
pub(crate) fn cipher(connection: &ClientConnection) -> Option<String> {
    let suite = connection.negotiated_cipher_suite()?.suite();
    Some(suite.as_str()?.replacen("TLS13_", "TLS_", 1))
}
