//! An entry of `allow_private`: a host, address or network that may be fetched although it is
//! private.
//!
//! Defines only the syntax. The fetcher decides which addresses are private and when it consults an
//! entry.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// A host, an address or a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedHost {
    /// A network; a single address is a network of one.
    Network(IpNet),
    /// A host name in lower case (`intranet.example`), or `*.example` for all hosts below it.
    Name(String),
}

/// An entry of an allow-list is neither a host nor a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a host name, an address nor a network such as `10.0.0.0/8`")]
pub struct AllowError(pub String);

impl FromStr for AllowedHost {
    type Err = AllowError;

    fn from_str(entry: &str) -> Result<Self, AllowError> {
        let entry = entry.trim();
        if let Ok(network) = entry.parse::<IpNet>() {
            Ok(Self::Network(network))
        } else if let Ok(address) = entry.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(Self::Network(address.into()))
        } else if is_host_pattern(entry) {
            Ok(Self::Name(entry.trim_end_matches('.').to_ascii_lowercase()))
        } else {
            Err(AllowError(entry.to_owned()))
        }
    }
}

fn is_host_pattern(entry: &str) -> bool {
    let name = entry.strip_prefix("*.").unwrap_or(entry);
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.bytes().all(is_allowed) && !name.starts_with('.')
}
