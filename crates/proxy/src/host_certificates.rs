//! Chooses the certificate of a TLS handshake: that of the name that the client asks for, or of the
//! host of `CONNECT` if it asks for none, as for an IP address.

use std::fmt;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::certificate_authority::CertificateAuthority;

/// The protocols inside TLS that clients may choose from.
const OFFERED_PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The certificates of one tunnel.
struct HostCertificates {
    authority: Arc<CertificateAuthority>,
    host: String,
}

impl fmt::Debug for HostCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostCertificates({})", self.host)
    }
}

impl ResolvesServerCert for HostCertificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.authority.certificate_for(hello.server_name().unwrap_or(&self.host)).ok()
    }
}

/// The TLS settings of a tunnel to `host`.
pub(crate) fn tls_settings(
    authority: &Arc<CertificateAuthority>,
    host: &str,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificates = HostCertificates { authority: Arc::clone(authority), host: host.to_owned() };
    let mut settings = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(certificates));
    settings.alpn_protocols = OFFERED_PROTOCOLS.map(<[u8]>::to_vec).into();
    Ok(Arc::new(settings))
}
