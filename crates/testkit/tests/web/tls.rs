//! The same web, encrypted.

use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use varve_testkit::web::{Certificate, Site, Web};

#[test]
fn a_client_that_trusts_the_certificate_gets_the_page() {
    let certificate = Certificate::for_names(&["localhost", "127.0.0.1"]);
    let web = Web::serve_tls(Site::with_everything(), &certificate);
    assert!(web.url("/").starts_with("https://127.0.0.1:"));
    let answer = get(&web, &certificate).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("<h1>About</h1>"));
    let other = Certificate::for_names(&["127.0.0.1"]);
    assert!(get(&web, &other).is_err());
    assert_eq!(web.count("/about.html"), 1);
}

fn get(web: &Web, trusted: &Certificate) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(settings), name).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(web.address())?);
    stream.write_all(b"GET /about.html HTTP/1.1\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // The server closes without saying so first; what matters here came before.
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}
