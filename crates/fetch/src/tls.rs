//! Encryption: whom to trust, what to offer, and what was agreed on.
//!
//! The platform's roots are trusted, or Mozilla's where the platform has none, and whatever the caller adds. HTTP/1.1 is
//! offered alone, because it is what can be recorded byte for byte; HTTP/2 is offered only after a server has refused
//! that.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{AlertDescription, ClientConfig, ClientConnection, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::{FetchError, FetchErrorKind};
use crate::target::Origin;

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
        let roots = Arc::new(roots(additional_roots)?);
        let connector = |protocol: &[u8]| -> Result<TlsConnector, RootsError> {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let mut config = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(RootsError::Setup)?
                .with_root_certificates(Arc::clone(&roots))
                .with_no_client_auth();
            config.alpn_protocols = vec![protocol.to_vec()];
            Ok(Arc::new(config).into())
        };
        Ok(Self { first: connector(b"http/1.1")?, second: connector(b"h2")? })
    }

    pub(crate) async fn agree(
        &self,
        stream: TcpStream,
        origin: &Origin,
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
            Err(error) => Err(refuse().because(error)),
        }
    }
}

fn roots(additional: Option<&[u8]>) -> Result<RootCertStore, RootsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(pem) = additional {
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            roots.add(certificate.map_err(RootsError::Pem)?).map_err(RootsError::Certificate)?;
        }
        if roots.len() == before {
            return Err(RootsError::Empty);
        }
    }
    Ok(roots)
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
