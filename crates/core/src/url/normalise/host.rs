//! Hosts and ports in normal form.

use super::USER_INFO_BYTES;
use crate::url::UrlProblem;
use crate::url::escape::{ByteSet, PercentDecoded, first_bad_escape};
use std::net::Ipv6Addr;

/// Bytes that are literal in a host name.
const HOST_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~!$&'()*+,;=");

/// Whether URLs of the scheme name a server that must be there.
pub(super) fn is_web(scheme: &str) -> bool {
    ["http", "https", "ws", "wss"].iter().any(|web| web.eq_ignore_ascii_case(scheme))
}

/// The default port of a scheme.
pub(super) fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        "ftp" => Some(21),
        _ => None,
    }
}

/// An address in brackets, in its shortest form. A zone or a future form is only lower-cased.
pub(super) fn normal_address(host: &str) -> Option<String> {
    let inner = host.strip_prefix('[')?.strip_suffix(']')?;
    if let Ok(address) = inner.parse::<Ipv6Addr>() {
        return Some(format!("[{address}]"));
    }
    let zone = inner.split_once("%25").filter(|(address, _)| address.parse::<Ipv6Addr>().is_ok());
    let future = inner.strip_prefix(['v', 'V']);
    let plain = zone.map(|(_, zone)| zone).or(future)?;
    USER_INFO_BYTES.first_outside(plain.as_bytes()).is_none().then(|| host.to_ascii_lowercase())
}

/// A host name without escapes, in lower case, in ASCII. A failure says where in the host it is.
pub(super) fn normal_name(host: &str) -> Result<String, (UrlProblem, usize)> {
    if let Some(at) = first_bad_escape(host) {
        return Err((UrlProblem::BadEscape, at));
    }
    let bytes: Vec<u8> = PercentDecoded(host.as_bytes()).collect();
    let name = String::from_utf8(bytes).map_err(|_| (UrlProblem::HostNotText, 0))?;
    let name = if name.is_ascii() {
        name.to_ascii_lowercase()
    } else {
        idna::domain_to_ascii(&name).map_err(|_| (UrlProblem::NotDomainName, 0))?
    };
    match HOST_BYTES.first_outside(name.as_bytes()) {
        Some(at) => Err((
            UrlProblem::HostCharacter(char::from(name.as_bytes()[at])),
            if name.len() == host.len() { at } else { 0 },
        )),
        None => Ok(name),
    }
}
