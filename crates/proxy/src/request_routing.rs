//! What a request means: a request for an absolute URL, for a page of the proxy itself, or nothing
//! that can be answered.

use std::net::{IpAddr, SocketAddr};

use http::header::{self, HeaderMap, HeaderName};
use http::uri::{Authority, Scheme};
use http::{Request, StatusCode, Uri, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;

use crate::connection::ConnectionKind;
use crate::handler::{ClientUpgrade, ProxyRequest};
use crate::refused_ports::is_refused;

/// Longer request targets are refused.
const MAX_TARGET_BYTES: usize = 64 << 10;

/// Headers that concern only the connection between client and proxy.
const CONNECTION_HEADERS: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Why a request is not answered.
type Refusal = (StatusCode, &'static str);

/// What to do with a request.
pub(crate) enum RequestRoute {
    /// The handler answers it.
    Forward(Box<ProxyRequest>),
    /// It is for the proxy itself: the path.
    Local(String),
    /// It cannot be answered.
    Refuse(StatusCode, &'static str),
}

/// The server at the end of a tunnel.
#[derive(Debug)]
pub(crate) struct TunnelTarget {
    /// The host, lower-case; IPv6 in brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// The target of `CONNECT`.
pub(crate) fn tunnel_target(uri: &Uri) -> Result<TunnelTarget, Refusal> {
    let authority = uri.authority().ok_or((StatusCode::BAD_REQUEST, "CONNECT needs a host and a port"))?;
    check_authority(authority)?;
    let port = authority.port_u16().ok_or((StatusCode::BAD_REQUEST, "CONNECT needs a port"))?;
    if is_refused(port) {
        return Err((StatusCode::FORBIDDEN, "this port is not one of the web"));
    }
    Ok(TunnelTarget { host: authority.host().to_ascii_lowercase(), port })
}

fn check_authority(authority: &Authority) -> Result<(), Refusal> {
    if authority.as_str().contains('@') {
        return Err((StatusCode::BAD_REQUEST, "the URL contains a user name or a password"));
    }
    if authority.host().is_empty() {
        return Err((StatusCode::BAD_REQUEST, "the URL has no host"));
    }
    Ok(())
}

/// Decides what to do with a request of a connection.
pub(crate) fn route(
    mut request: Request<Incoming>,
    kind: &ConnectionKind,
    own_address: SocketAddr,
) -> RequestRoute {
    let url = match kind {
        ConnectionKind::Proxy => match absolute_url(request.uri(), own_address) {
            Ok(Some(url)) => url,
            Ok(None) => return RequestRoute::Local(request.uri().path().to_owned()),
            Err((status, why)) => return RequestRoute::Refuse(status, why),
        },
        ConnectionKind::Tunnel { target, is_secure } => match url_in_tunnel(&request, target, *is_secure) {
            Ok(url) => url,
            Err((status, why)) => return RequestRoute::Refuse(status, why),
        },
    };
    let connection = request.extensions_mut().remove::<OnUpgrade>();
    let protocol = request.headers().get(header::UPGRADE).and_then(|value| value.to_str().ok());
    let upgrade = protocol.map(str::to_owned).zip(connection);
    let upgrade = upgrade.map(|(protocol, connection)| ClientUpgrade { protocol, connection });
    let is_http2 = request.version() == Version::HTTP_2;
    let (parts, body) = request.into_parts();
    let headers = end_to_end(parts.headers);
    RequestRoute::Forward(Box::new(ProxyRequest {
        url,
        method: parts.method,
        headers,
        body,
        is_http2,
        upgrade,
    }))
}

/// The URL of a request to the proxy. `None` if the proxy itself is meant.
fn absolute_url(uri: &Uri, own_address: SocketAddr) -> Result<Option<String>, Refusal> {
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else { return Ok(None) };
    if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS {
        return Err((StatusCode::BAD_REQUEST, "the URL is neither http nor https"));
    }
    check_authority(authority)?;
    let default = if *scheme == Scheme::HTTPS { 443 } else { 80 };
    let port = authority.port_u16().unwrap_or(default);
    if is_own(authority.host(), port, own_address) {
        return Ok(None);
    }
    url_of(scheme, authority.host(), port, uri).map(Some)
}

/// Whether a host and port are those of the proxy, to which it must not send requests itself.
fn is_own(host: &str, port: u16, own: SocketAddr) -> bool {
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let is_this = |address: IpAddr| address == own.ip() || address.is_loopback() || address.is_unspecified();
    port == own.port() && (host.eq_ignore_ascii_case("localhost") || address.is_some_and(is_this))
}

/// The URL of a request in a tunnel. Its `Host` must be the host of the tunnel.
fn url_in_tunnel(
    request: &Request<Incoming>,
    target: &TunnelTarget,
    is_secure: bool,
) -> Result<String, Refusal> {
    let scheme = if is_secure { Scheme::HTTPS } else { Scheme::HTTP };
    let uri = request.uri();
    let host = match request.headers().get(header::HOST) {
        Some(host) => Some(
            Authority::try_from(host.as_bytes())
                .map_err(|_| (StatusCode::BAD_REQUEST, "the Host header is not valid"))?,
        ),
        None => None,
    };
    let mut named = uri.authority().into_iter().chain(&host);
    if request.headers().get_all(header::HOST).iter().nth(1).is_some() {
        return Err((StatusCode::BAD_REQUEST, "there are several Host headers"));
    }
    let is_target = |named: &Authority| {
        let default = if is_secure { 443 } else { 80 };
        named.host().eq_ignore_ascii_case(&target.host) && named.port_u16().unwrap_or(default) == target.port
    };
    if !named.all(is_target) {
        return Err((StatusCode::MISDIRECTED_REQUEST, "the tunnel leads to another host"));
    }
    url_of(&scheme, &target.host, target.port, uri)
}

fn url_of(scheme: &Scheme, host: &str, port: u16, uri: &Uri) -> Result<String, Refusal> {
    if is_refused(port) {
        return Err((StatusCode::FORBIDDEN, "this port is not one of the web"));
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    if path.len() > MAX_TARGET_BYTES {
        return Err((StatusCode::URI_TOO_LONG, "the URL is too long"));
    }
    // `OPTIONS *` concerns the server as a whole, which has no URL.
    let path = if path == "*" { "/" } else { path };
    let default = if *scheme == Scheme::HTTPS { 443 } else { 80 };
    let port = if port == default { String::new() } else { format!(":{port}") };
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(format!("{scheme}://{host}{port}{slash}{path}"))
}

/// The headers that concern the server. Those that `Connection` names concern only the connection.
fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in &named {
        headers.remove(name);
    }
    for name in CONNECTION_HEADERS {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> SocketAddr {
        "127.0.0.1:8090".parse().unwrap()
    }

    #[test]
    fn absolute_urls_are_requests_and_paths_are_for_the_proxy() {
        let url = |text: &str| absolute_url(&text.parse().unwrap(), own());
        assert_eq!(url("http://Example.com/a?b=c"), Ok(Some("http://Example.com/a?b=c".to_owned())));
        assert_eq!(url("http://example.com"), Ok(Some("http://example.com/".to_owned())));
        assert_eq!(url("https://example.com:8443/x"), Ok(Some("https://example.com:8443/x".to_owned())));
        assert_eq!(url("http://example.com:80/"), Ok(Some("http://example.com/".to_owned())));
        for own in ["/ca.pem", "http://127.0.0.1:8090/", "http://localhost:8090/", "http://0.0.0.0:8090/"] {
            assert_eq!(url(own), Ok(None), "{own}");
        }
        for (refused, status) in [
            ("http://me:secret@example.com/", StatusCode::BAD_REQUEST),
            ("ftp://example.com/", StatusCode::BAD_REQUEST),
            ("http://example.com:25/", StatusCode::FORBIDDEN),
        ] {
            assert_eq!(url(refused).unwrap_err().0, status, "{refused}");
        }
    }

    #[test]
    fn tunnels_lead_to_ports_of_the_web() {
        let target =
            |text: &str| tunnel_target(&text.parse().unwrap()).map(|target| (target.host, target.port));
        assert_eq!(target("Example.com:443"), Ok(("example.com".to_owned(), 443)));
        assert_eq!(target("[::1]:8443"), Ok(("[::1]".to_owned(), 8443)));
        assert_eq!(target("example.com:25").unwrap_err().0, StatusCode::FORBIDDEN);
        assert_eq!(target("example.com").unwrap_err().0, StatusCode::BAD_REQUEST);
        assert_eq!(target("me:pw@example.com:443").unwrap_err().0, StatusCode::BAD_REQUEST);
    }

    #[test]
    fn headers_of_the_connection_are_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("proxy-authorization", "Basic eDp5"),
            ("te", "trailers"),
            ("accept", "*/*"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let kept: Vec<String> = end_to_end(headers).keys().map(ToString::to_string).collect();
        assert_eq!(kept, ["accept"]);
    }
}
