//! The same web over TLS, with a certificate that it makes for itself.

use super::server::Web;
use super::site::Site;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::sync::Arc;

/// A certificate that nobody signed but itself.
#[derive(Debug, Clone)]
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: Vec<u8>,
    pem: String,
}

impl Certificate {
    /// Makes a certificate for these names and addresses.
    ///
    /// # Panics
    ///
    /// If a name is none.
    pub fn for_names(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let made = rcgen::generate_simple_self_signed(names).expect("the names are names");
        Self {
            chain: vec![made.cert.der().clone()],
            key: made.signing_key.serialize_der(),
            pem: made.cert.pem(),
        }
    }

    /// The certificate as a client may be told to trust it.
    pub fn pem(&self) -> &str {
        &self.pem
    }
}

impl Web {
    /// Starts a web over TLS, for clients that speak HTTP/1.1.
    ///
    /// # Panics
    ///
    /// If loopback cannot be listened on.
    pub fn serve_tls(site: Site, certificate: &Certificate) -> Self {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certificate.key.clone()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut settings = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring speaks TLS")
            .with_no_client_auth()
            .with_single_cert(certificate.chain.clone(), key)
            .expect("the certificate was made with this key");
        settings.alpn_protocols = vec![b"http/1.1".to_vec()];
        let settings = Arc::new(settings);
        let wrap = move |socket| {
            let connection = ServerConnection::new(Arc::clone(&settings)).map_err(std::io::Error::other)?;
            Ok(Box::new(StreamOwned::new(connection, socket)) as _)
        };
        Self::serve_wrapped(site, "https", Box::new(wrap))
    }
}
