//! The guard: which addresses may be connected to.
//!
//! It checks the very address that the connector is about to dial, after the name was resolved, for
//! every connection, so neither a redirect nor a changed DNS record can lead to a private address.
//! Only addresses of the public internet pass. Forms that contain an IPv4 address (mapped, NAT64,
//! 6to4, Teredo) are refused, since a name on the public web has no use for them. Networks that
//! translate through NAT64 can allow `64:ff9b::/96`.
//!
//! Behind a proxy, the proxy resolves names, and the guard cannot see their addresses. Then it
//! refuses private addresses in the URL, names of one label and names that belong to no public
//! zone. A user who knows that the proxy refuses private addresses itself can allow any name.

mod ranges;

use std::net::IpAddr;

use ipnet::IpNet;
pub use varve_core::allowed_host::AllowError;
use varve_core::allowed_host::AllowedHost;

use ranges::refusal;

/// Which private addresses and hosts are allowed.
#[derive(Clone, Debug, Default)]
pub struct AddressGuard {
    allow_private: bool,
    allow_proxied_names: bool,
    hosts: Vec<String>,
    networks: Vec<IpNet>,
}

impl AddressGuard {
    /// Refuses everything that is not public.
    pub fn new() -> Self {
        Self::default()
    }

    /// Refuses nothing.
    pub fn allow_private() -> Self {
        Self { allow_private: true, ..Self::default() }
    }

    /// Allows every name that a proxy resolves: the proxy decides which of them are private.
    /// Private addresses in URLs are still refused.
    pub fn allow_proxied_names(&mut self) {
        self.allow_proxied_names = true;
    }

    /// Allows one more host (`intranet.example`, or `*.example` for all below), address or
    /// network.
    pub fn allow(&mut self, entry: &str) -> Result<(), AllowError> {
        match entry.parse()? {
            AllowedHost::Network(network) => self.networks.push(network),
            AllowedHost::Name(pattern) => self.hosts.push(pattern),
        }
        Ok(())
    }

    /// Whether an address to which a host was resolved may be dialled; otherwise what it is.
    pub fn check(&self, host: &str, address: IpAddr) -> Result<(), &'static str> {
        if self.allow_private || self.allows_host(host) || self.allows_address(address) {
            return Ok(());
        }
        refusal(address).map_or(Ok(()), Err)
    }

    /// Whether a host that a proxy will resolve may be requested; otherwise why not. Names below
    /// `onion` exist only behind SOCKS proxies.
    pub(crate) fn check_proxied(&self, host: &str, is_socks: bool) -> Result<(), ProxiedHostRefusal> {
        if self.allow_private || self.allows_host(host) {
            return Ok(());
        }
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return self.check(host, address).map_err(ProxiedHostRefusal::Address);
        }
        match private_name(host, is_socks) {
            Some(what) if !self.allow_proxied_names => Err(ProxiedHostRefusal::Name(what)),
            _ => Ok(()),
        }
    }

    fn allows_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.hosts.iter().any(|allowed| match allowed.strip_prefix('*') {
            Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
            None => host == *allowed,
        })
    }

    fn allows_address(&self, address: IpAddr) -> bool {
        let plain = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address) || network.contains(&plain))
    }
}

/// Why a host is not requested through a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxiedHostRefusal {
    /// It is an address, and this is what the address is.
    Address(&'static str),
    /// It is a name whose address only the proxy learns, and this is what the name is.
    Name(&'static str),
}

/// The ends of names that a resolver answers with this machine, this link or this organisation. No
/// public zone has them.
const PRIVATE_ZONES: [&str; 11] = [
    ".corp",
    ".home",
    ".home.arpa",
    ".intern",
    ".internal",
    ".intranet",
    ".lan",
    ".local",
    ".localdomain",
    ".localhost",
    ".private",
];

/// What a name is that may lead to a private address.
fn private_name(host: &str, is_socks: bool) -> Option<&'static str> {
    let host = format!(".{}", host.trim_end_matches('.').to_ascii_lowercase());
    if PRIVATE_ZONES.into_iter().any(|zone| host.ends_with(zone)) {
        return Some("a name of this machine or site");
    }
    if host.ends_with(".onion") {
        return (!is_socks).then_some("a name that only SOCKS proxies can reach");
    }
    (!host[1..].contains('.')).then_some("a name without a domain")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(guard: &AddressGuard, address: &str) -> bool {
        guard.check("example.com", address.parse().unwrap()).is_err()
    }

    #[test]
    fn an_allow_list_allows_its_entries_and_nothing_else() {
        let mut guard = AddressGuard::new();
        for entry in ["10.1.0.0/16", "192.168.1.5", "[fd00::1]", "wiki.corp.example", "*.lab.example"] {
            guard.allow(entry).unwrap();
        }
        for address in ["10.1.2.3", "::ffff:10.1.2.3", "192.168.1.5", "fd00::1", "93.184.216.34"] {
            assert!(!refused(&guard, address), "{address}");
        }
        for address in ["10.2.0.1", "192.168.1.6", "fd00::2", "127.0.0.1"] {
            assert!(refused(&guard, address), "{address}");
        }
        let loopback = "127.0.0.1".parse().unwrap();
        for (host, passes) in [
            ("wiki.corp.example", true),
            ("WIKI.corp.example.", true),
            ("a.b.lab.example", true),
            ("lab.example", false),
            ("evil-wiki.corp.example", false),
            ("evillab.example", false),
        ] {
            assert_eq!(guard.check(host, loopback).is_ok(), passes, "{host}");
        }
    }

    #[test]
    fn local_names_are_refused_before_a_proxy_sees_them() {
        let guard = AddressGuard::new();
        for host in
            ["localhost", "LOCALHOST.", "a.localhost", "printer.local", "127.0.0.1", "[::1]", "db.internal"]
        {
            assert!(guard.check_proxied(host, true).is_err(), "{host}");
            assert!(AddressGuard::allow_private().check_proxied(host, true).is_ok(), "{host}");
        }
        for host in ["example.com", "local.example.com", "8.8.8.8", "corp.example", "notlocalhost.example"] {
            assert!(guard.check_proxied(host, false).is_ok(), "{host}");
        }
    }

    #[test]
    fn names_that_only_the_proxy_can_resolve_are_refused_unless_it_is_trusted_with_them() {
        let guard = AddressGuard::new();
        let mut trusting = AddressGuard::new();
        trusting.allow_proxied_names();
        let mut listing = AddressGuard::new();
        listing.allow("wiki").unwrap();
        let names = "wiki WIKI. a.corp a.home a.home.arpa a.intern a.internal a.lan a.local a.private corp";
        for host in names.split(' ') {
            let refused = guard.check_proxied(host, true);
            assert!(matches!(refused, Err(ProxiedHostRefusal::Name(_))), "{host}");
            assert_eq!(trusting.check_proxied(host, true), Ok(()), "{host}");
        }
        assert_eq!(listing.check_proxied("wiki", false), Ok(()));
        assert_eq!(guard.check_proxied("abc.onion", true), Ok(()));
        assert!(guard.check_proxied("abc.onion", false).is_err());
        for host in ["10.0.0.1", "[::1]"] {
            assert!(
                matches!(trusting.check_proxied(host, true), Err(ProxiedHostRefusal::Address(_))),
                "{host}"
            );
        }
    }

    #[test]
    fn invalid_entries_are_rejected() {
        for entry in ["", "10.0.0.0/33", "a b", "http://x/", "*", "*.", ".x"] {
            assert_eq!(AddressGuard::new().allow(entry), Err(AllowError(entry.to_owned())), "{entry}");
        }
    }
}
