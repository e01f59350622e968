//! Who may ask: whoever calls this server by its own name, and no page of another origin.
//!
//! A server on loopback is reached by every page that a browser shows. A name that somebody points here (rebinding) is refused
//! because it is not ours; a request that a foreign page makes is refused because it says whose it is.

use std::net::{IpAddr, SocketAddr};

use crate::request::Request;
use crate::shelf::{Shelf, host_name};

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It calls for another host.
    Host,
    /// A page of another origin made it.
    Origin,
}

/// Whether a request to the server at `here` may be answered. Pages of `other` may ask too; so may pages without an origin, if
/// `sandboxed`.
pub(crate) fn check(
    request: &Request,
    shelf: &Shelf,
    here: SocketAddr,
    other: Option<SocketAddr>,
    sandboxed: bool,
) -> Result<(), Refusal> {
    let host = request.header("host").ok_or(Refusal::Host)?;
    if !is_ours(host_name(host), here, &shelf.hosts) {
        return Err(Refusal::Host);
    }
    let Some(origin) = request.headers.get("origin") else { return Ok(()) };
    let origin = origin.to_str().map_err(|_| Refusal::Origin)?;
    if origin == "null" && sandboxed {
        return Ok(());
    }
    let (_, authority) = origin.split_once("://").ok_or(Refusal::Origin)?;
    let ports = [Some(here.port()), other.map(|other| other.port())];
    let is_known = ports.into_iter().flatten().any(|port| port_of(authority) == port);
    let same_host = host_name(authority).eq_ignore_ascii_case(host_name(host));
    let is_asked = authority.eq_ignore_ascii_case(host);
    if is_asked || (same_host && is_known) { Ok(()) } else { Err(Refusal::Origin) }
}

fn is_ours(name: &str, here: SocketAddr, hosts: &[String]) -> bool {
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
    fn only_our_own_names_are_ours() {
        let here = "127.0.0.1:8080".parse().unwrap();
        for name in ["localhost", "LOCALHOST.", "127.0.0.1", "127.1.2.3", "[::1]", "museum.example"] {
            assert!(is_ours(name, here, &["Museum.example".to_owned()]), "{name}");
        }
        for name in ["", "evil.example", "127.0.0.1.evil.example", "192.168.0.1", "localhost.evil"] {
            assert!(!is_ours(name, here, &[]), "{name}");
        }
        assert!(is_ours("192.168.0.1", "0.0.0.0:80".parse().unwrap(), &[]));
    }

    #[test]
    fn ports_are_told_apart_from_addresses() {
        assert_eq!((host_name("[::1]:80"), host_name("[::1]"), host_name("a:1")), ("[::1]", "[::1]", "a"));
        assert_eq!((port_of("[::1]:81"), port_of("a"), port_of("a:x")), (81, 80, 80));
    }
}
