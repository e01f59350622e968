//! The guard: which addresses may be connected to.
//!
//! It checks the very address that the connector is about to dial, after the name was resolved, for
//! every connection, so neither a redirect nor a changed DNS record can lead to a private address.
//! Only addresses of the public internet pass. Forms that contain an IPv4 address (mapped, NAT64,
//! 6to4, Teredo) are refused, since a name on the public web has no use for them. Networks that
//! translate through NAT64 can allow `64:ff9b::/96`.
//!
//! Behind a proxy, the proxy resolves names. Then the guard checks addresses in the URL and names
//! that mean this machine or this site; for the rest the proxy is trusted.

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

    /// Whether a host that a proxy will resolve may be requested.
    pub fn check_name(&self, host: &str) -> Result<(), &'static str> {
        if self.allow_private || self.allows_host(host) {
            return Ok(());
        }
        match host.trim_matches(['[', ']']).parse() {
            Ok(address) => self.check(host, address),
            Err(_) if is_local_name(host) => Err("a name of this machine or site"),
            Err(_) => Ok(()),
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

/// Names that a resolver answers with this machine, this link or this organisation.
fn is_local_name(host: &str) -> bool {
    let host = format!(".{}", host.trim_end_matches('.').to_ascii_lowercase());
    let names = [".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa"];
    names.into_iter().any(|name| host.ends_with(name))
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
            assert!(guard.check_name(host).is_err(), "{host}");
            assert!(AddressGuard::allow_private().check_name(host).is_ok(), "{host}");
        }
        for host in ["example.com", "notlocalhost", "local.example.com", "8.8.8.8"] {
            assert!(guard.check_name(host).is_ok(), "{host}");
        }
    }

    #[test]
    fn invalid_entries_are_rejected() {
        for entry in ["", "10.0.0.0/33", "a b", "http://x/", "*", "*.", ".x"] {
            assert_eq!(AddressGuard::new().allow(entry), Err(AllowError(entry.to_owned())), "{entry}");
        }
    }
}
