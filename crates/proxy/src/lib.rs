//! An HTTP proxy for browsers and other programs: the side that faces its clients.
//!
//! Clients send requests with absolute URLs, or open a tunnel with `CONNECT`. In a tunnel the proxy
//! itself is the server: it speaks TLS with a certificate for the host, made by a
//! [`CertificateAuthority`] that the client trusts, and then HTTP/1.1 or HTTP/2. Either way a
//! [`ProxyHandler`] gets a request for an absolute URL and answers it.
//!
//! Owns connections of clients, their limits, certificates, and what a request means. Does not know
//! where answers come from: nothing here connects to a server, resolves a name, or stores anything.
//! Whether an address may be contacted is decided by the handler.

mod certificate_authority;
mod connection;
mod handler;
mod host_certificates;
mod local_page;
mod refused_ports;
mod request_routing;
mod server;
mod write_timeout;

pub use certificate_authority::{AuthorityError, CertificateAuthority};
pub use handler::{
    ClientUpgrade, ProxyAnswer, ProxyBody, ProxyHandler, ProxyRequest, ProxyResponse, plain_response,
};
pub use server::{ListenError, ProxyServer};
pub use write_timeout::WriteTimeout;
