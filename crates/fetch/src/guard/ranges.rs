//! The table of special-purpose address ranges.
//!
//! From the IANA registries of special-purpose IPv4 and IPv6 addresses. For IPv6 the table is a
//! list of exceptions within 2000::/3, the only part that is handed out for the public internet;
//! everything outside it is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 range, its length in bits, and what it is.
const V4: [([u8; 4], u32, &str); 17] = [
    ([0, 0, 0, 0], 8, "an unspecified address"),
    ([10, 0, 0, 0], 8, "a private address"),
    ([100, 64, 0, 0], 10, "a shared (carrier-grade NAT) address"),
    ([127, 0, 0, 0], 8, "a loopback address"),
    ([169, 254, 0, 0], 16, "a link-local address"),
    ([172, 16, 0, 0], 12, "a private address"),
    ([192, 0, 0, 0], 24, "an address reserved for protocols"),
    ([192, 0, 2, 0], 24, "a documentation address"),
    ([192, 31, 196, 0], 24, "an address reserved for protocols"),
    ([192, 52, 193, 0], 24, "an address reserved for protocols"),
    ([192, 88, 99, 0], 24, "a 6to4 relay address"),
    ([192, 168, 0, 0], 16, "a private address"),
    ([198, 18, 0, 0], 15, "a benchmark address"),
    ([198, 51, 100, 0], 24, "a documentation address"),
    ([203, 0, 113, 0], 24, "a documentation address"),
    ([224, 0, 0, 0], 4, "a multicast address"),
    ([240, 0, 0, 0], 4, "a reserved address"),
];

/// An IPv6 range, its length in bits, and what it is. The first that fits counts.
const V6: [(&[u16], u32, &str); 20] = [
    (&[0, 0, 0, 0, 0, 0, 0, 0], 128, "an unspecified address"),
    (&[0, 0, 0, 0, 0, 0, 0, 1], 128, "a loopback address"),
    (&[0, 0, 0, 0, 0, 0xffff], 96, "an IPv4-mapped address"),
    (&[0, 0, 0, 0, 0xffff, 0], 96, "an IPv4-translated address"),
    (&[0, 0, 0, 0, 0, 0], 96, "an IPv4-compatible address"),
    (&[0x64, 0xff9b, 0, 0, 0, 0], 96, "a NAT64 address"),
    (&[0x64, 0xff9b, 1], 48, "a NAT64 address"),
    (&[0x100], 16, "a discard address"),
    (&[0x2001, 0], 32, "a Teredo address"),
    (&[0x2001, 2, 0], 48, "a benchmark address"),
    (&[0x2001, 0], 23, "an address reserved for protocols"),
    (&[0x2001, 0xdb8], 32, "a documentation address"),
    (&[0x2002], 16, "a 6to4 address"),
    (&[0x2620, 0x4f, 0x8000], 48, "an address reserved for protocols"),
    (&[0x3fff, 0], 20, "a documentation address"),
    (&[0x5f00], 16, "a segment routing address"),
    (&[0xfc00], 7, "a unique local address"),
    (&[0xfe80], 10, "a link-local address"),
    (&[0xfec0], 10, "a site-local address"),
    (&[0xff00], 8, "a multicast address"),
];

/// What an address is, if it is not of the public internet.
pub(super) fn refusal(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4_refusal(address),
        IpAddr::V6(address) => v6_refusal(address),
    }
}

fn v4_refusal(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    V4.iter()
        .find(|(range, length, _)| (bits ^ u32::from_be_bytes(*range)) >> (32 - length) == 0)
        .map(|(_, _, what)| *what)
}

fn v6_refusal(address: Ipv6Addr) -> Option<&'static str> {
    let bits = u128::from(address);
    let listed = V6.iter().find(|(range, length, _)| (bits ^ v6_bits(range)) >> (128 - length) == 0);
    match listed {
        Some((_, _, what)) => Some(what),
        None if bits >> 125 != 1 => Some("an address outside the public internet"),
        None => None,
    }
}

fn v6_bits(groups: &[u16]) -> u128 {
    let mut whole = [0; 8];
    whole[..groups.len()].copy_from_slice(groups);
    u128::from(Ipv6Addr::from(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_address() {
        for (address, what) in [
            ("0.0.0.0", "unspecified"),
            ("0.1.2.3", "unspecified"),
            ("10.0.0.0", "private"),
            ("10.255.255.255", "private"),
            ("100.64.0.0", "carrier-grade"),
            ("100.127.255.255", "carrier-grade"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.254", "loopback"),
            ("169.254.169.254", "link-local"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.8", "protocols"),
            ("192.0.2.1", "documentation"),
            ("192.88.99.1", "6to4"),
            ("192.168.0.1", "private"),
            ("198.18.0.1", "benchmark"),
            ("198.19.255.255", "benchmark"),
            ("198.51.100.1", "documentation"),
            ("203.0.113.1", "documentation"),
            ("224.0.0.1", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::ffff:127.0.0.1", "mapped"),
            ("::ffff:8.8.8.8", "mapped"),
            ("::ffff:0:127.0.0.1", "translated"),
            ("::127.0.0.1", "compatible"),
            ("::8.8.8.8", "compatible"),
            ("64:ff9b::7f00:1", "NAT64"),
            ("64:ff9b::8.8.8.8", "NAT64"),
            ("64:ff9b:1::10.0.0.1", "NAT64"),
            ("100::1", "discard"),
            ("2001::1", "Teredo"),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
            ("2001:2::1", "benchmark"),
            ("2001:10::1", "protocols"),
            ("2001:20::1", "protocols"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::", "6to4"),
            ("2002:808:808::1", "6to4"),
            ("3fff::1", "documentation"),
            ("5f00::1", "segment"),
            ("4000::1", "outside"),
            ("fc00::1", "unique local"),
            ("fd12:3456::1", "unique local"),
            ("fe80::1", "link-local"),
            ("febf::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
        ] {
            let found = refusal(address.parse().unwrap()).unwrap_or("public");
            assert!(found.contains(what), "{address} is {found}, not {what}");
        }
    }

    #[test]
    fn the_public_internet_begins_where_the_ranges_end() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2000::1",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2003::1",
            "2606:4700::1111",
            "3ffe::1",
        ] {
            assert_eq!(refusal(address.parse().unwrap()), None, "{address}");
        }
    }
}
