//! Protects an origin: refuses requests for foreign host names and from pages of foreign origins,
//! and adds security headers to all responses.
//!
//! Every page that a browser shows can reach a server on loopback. A foreign name that resolves to
//! this server (DNS rebinding) is refused because it is not one of ours. A request by a foreign
//! page is refused because of its `Origin`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::app_state::{AppState, host_name};
use crate::error_page;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardError {
    /// `Host` is missing, repeated, or not a host with an optional port.
    MalformedHost,
    /// `Host` names another server.
    ForeignHost,
    /// A page of another origin made the request.
    ForeignOrigin,
}

impl IntoResponse for GuardError {
    fn into_response(self) -> Response {
        match self {
            Self::MalformedHost => error_page::plain(
                StatusCode::BAD_REQUEST,
                "A request has one `Host` header with a host name.",
                "",
            ),
            Self::ForeignHost => error_page::plain(
                StatusCode::MISDIRECTED_REQUEST,
                "This server does not have that host name.",
                "Use its IP address, or start it with `--host NAME`.",
            ),
            Self::ForeignOrigin => {
                error_page::plain(StatusCode::FORBIDDEN, "Requests from other origins are refused.", "")
            }
        }
    }
}

/// Adds to all routes of an origin the guard, a Content-Security-Policy, and headers that are set
/// where a response does not have them yet.
pub(crate) fn protect(
    router: Router<Arc<AppState>>,
    state: &Arc<AppState>,
    rules: GuardRules,
    policy: fn(&AppState, &Parts) -> String,
    headers: impl IntoIterator<Item = (HeaderName, &'static str)>,
) -> Router<Arc<AppState>> {
    let guard = move |State(state): State<Arc<AppState>>, request: Request, next: Next| async move {
        let (parts, body) = request.into_parts();
        let policy = HeaderValue::try_from(policy(&state, &parts));
        let mut response = match check(&parts, &state, &rules) {
            Ok(()) => next.run(Request::from_parts(parts, body)).await,
            Err(error) => error.into_response(),
        };
        if let Ok(policy) = policy {
            response.headers_mut().entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
        }
        response
    };
    let router = router.layer(from_fn_with_state(Arc::clone(state), guard));
    headers.into_iter().fold(router, |router, (name, value)| {
        router.layer(SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value)))
    })
}

/// Which pages, besides those of the same origin, may send requests.
#[derive(Clone, Copy)]
pub(crate) struct GuardRules {
    /// The address of the origin that is asked.
    pub(crate) here: SocketAddr,
    /// Another origin whose pages may ask too.
    pub(crate) other: Option<SocketAddr>,
    /// Whether pages without an origin, such as sandboxed frames, may ask.
    pub(crate) allow_null_origin: bool,
}

/// Refuses a request that `rules` do not allow.
fn check(request: &Parts, state: &AppState, rules: &GuardRules) -> Result<(), GuardError> {
    let host = only_host(request).ok_or(GuardError::MalformedHost)?;
    if !is_own_host(host_name(host), rules.here, &state.hosts) {
        return Err(GuardError::ForeignHost);
    }
    let Some(origin) = request.headers.get("origin") else { return Ok(()) };
    let origin = origin.to_str().map_err(|_| GuardError::ForeignOrigin)?;
    if origin == "null" && rules.allow_null_origin {
        return Ok(());
    }
    let (_, authority) = origin.split_once("://").ok_or(GuardError::ForeignOrigin)?;
    let ports = [Some(rules.here.port()), rules.other.map(|other| other.port())];
    let is_known_port = ports.into_iter().flatten().any(|port| port_of(authority) == port);
    let is_same_host = host_name(authority).eq_ignore_ascii_case(host_name(host));
    let is_same_origin = authority.eq_ignore_ascii_case(host);
    if is_same_origin || (is_same_host && is_known_port) { Ok(()) } else { Err(GuardError::ForeignOrigin) }
}

/// The value of `Host`, if there is exactly one and it has no user information. Programs disagree
/// about which of two values counts, and about the host in `a@b`.
fn only_host(request: &Parts) -> Option<&str> {
    let mut hosts = request.headers.get_all(http::header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return None };
    host.to_str().ok().filter(|host| !host.contains(['@', '/', '\\', ' ', '\t', ',']))
}

fn is_own_host(name: &str, here: SocketAddr, hosts: &[String]) -> bool {
    let name = name.trim_end_matches('.');
    if name.eq_ignore_ascii_case("localhost") || hosts.iter().any(|host| host.eq_ignore_ascii_case(name)) {
        return true;
    }
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.is_ok_and(|address| address.is_loopback() || address == here.ip() || here.ip().is_unspecified())
}

fn port_of(authority: &str) -> u16 {
    let host = host_name(authority);
    authority[host.len()..].trim_start_matches(':').parse().unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_host_names_are_accepted() {
        let here = "127.0.0.1:8080".parse().unwrap();
        for name in ["localhost", "LOCALHOST.", "127.0.0.1", "127.1.2.3", "[::1]", "museum.example"] {
            assert!(is_own_host(name, here, &["Museum.example".to_owned()]), "{name}");
        }
        for name in ["", "evil.example", "127.0.0.1.evil.example", "192.168.0.1", "localhost.evil"] {
            assert!(!is_own_host(name, here, &[]), "{name}");
        }
        assert!(is_own_host("192.168.0.1", "0.0.0.0:80".parse().unwrap(), &[]));
    }

    #[test]
    fn one_host_without_user_information_is_accepted() {
        let only = |hosts: &[&str]| {
            let mut request = http::Request::builder();
            for host in hosts {
                request = request.header("host", *host);
            }
            only_host(&request.body(()).unwrap().into_parts().0).map(str::to_owned)
        };
        assert_eq!(only(&["localhost:8080"]).as_deref(), Some("localhost:8080"));
        assert_eq!(only(&[]), None);
        assert_eq!(only(&["localhost", "localhost"]), None);
        for host in ["evil.example@localhost", "localhost@evil.example", "localhost, evil.example", "a b"] {
            assert_eq!(only(&[host]), None, "{host}");
        }
    }

    #[test]
    fn hosts_and_ports_are_separated() {
        assert_eq!((host_name("[::1]:80"), host_name("[::1]"), host_name("a:1")), ("[::1]", "[::1]", "a"));
        assert_eq!((port_of("[::1]:81"), port_of("a"), port_of("a:x")), (81, 80, 80));
    }
}
