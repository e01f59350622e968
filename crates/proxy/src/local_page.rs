//! The pages of the proxy itself, for a client that asks it directly: the certificate to trust, and
//! how to do that.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, Full};

use crate::certificate_authority::CertificateAuthority;
use crate::handler::{ProxyResponse, plain_response};

/// The certificate as PEM, for programs.
const PEM_PATH: &str = "/ca.pem";

/// The certificate as DER, as mobile systems install it.
const DER_PATH: &str = "/ca.crt";

/// Answers a request for a page of the proxy.
pub(crate) fn local_page(path: &str, authority: &CertificateAuthority, address: SocketAddr) -> ProxyResponse {
    let (kind, content) = match path {
        "/" => ("text/html; charset=utf-8", Bytes::from(front_page(address))),
        PEM_PATH => ("application/x-pem-file", Bytes::from(authority.certificate_pem())),
        DER_PATH => ("application/x-x509-ca-cert", Bytes::copy_from_slice(authority.certificate_der())),
        _ => return plain_response(StatusCode::NOT_FOUND, "this is a proxy: it has no such page"),
    };
    let mut response = ProxyResponse::new(Full::new(content).map_err(|never| match never {}).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn front_page(address: SocketAddr) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>varve proxy</title>\
         <h1>This is a proxy of varve</h1>\
         <p>Set it as the HTTP and HTTPS proxy of a browser or program: <code>{address}</code></p>\
         <p>For HTTPS, install its certificate as one that may identify web sites: \
         <a href=\"{DER_PATH}\">{DER_PATH}</a> for phones and browsers, \
         <a href=\"{PEM_PATH}\">{PEM_PATH}</a> for programs. Remove it again when you are done.</p></html>\n"
    )
}
