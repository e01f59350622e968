//! Hosts as archives have read them: numbers that are addresses, letters of all scripts, `www.` in
//! front.

use super::{escaped, unescaped};
use crate::url::UrlProblem;
use std::net::Ipv4Addr;

/// Host and port of an authority: inside brackets, or up to the first colon.
pub(super) fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    let rest = authority.rsplit_once('@').map_or(authority, |(_, rest)| rest);
    match rest.split_once('[') {
        Some((_, bracketed)) => {
            let (host, after) = bracketed.split_once(']').unwrap_or((bracketed, ""));
            (host, after.split_once(':').map(|(_, port)| port))
        }
        None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
    }
}

/// The number of a port.
pub(super) fn read_port(port: &str) -> Result<u16, UrlProblem> {
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(UrlProblem::BadPort);
    }
    port.parse().map_err(|_| UrlProblem::PortTooGreat)
}

/// A host unescaped, as an address or in its DNS form, in lower case.
pub(super) fn canonical_host(host: &[u8]) -> Vec<u8> {
    let host = unescaped(host);
    let host = if host.is_ascii() { host } else { punycode(&host).unwrap_or(host) };
    let host = without_doubled_dots(&host);
    match address(&host) {
        Some(address) => address.to_string().into_bytes(),
        None => escaped(&host.to_ascii_lowercase()),
    }
}

/// The DNS form of a name, label by label, without its invalid UTF-8; `None` if it has no DNS form.
fn punycode(host: &[u8]) -> Option<Vec<u8>> {
    let name: String = host.utf8_chunks().map(|chunk| chunk.valid()).collect();
    if name.is_empty() {
        return Some(Vec::new());
    }
    let name = name.strip_suffix(is_label_end).unwrap_or(&name);
    let labels = name.split(is_label_end).map(punycode_label).collect::<Option<Vec<_>>>()?;
    Some(labels.join(".").into_bytes())
}

/// The dots of all scripts.
const fn is_label_end(character: char) -> bool {
    matches!(character, '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}')
}

/// A label by the older rules (IDNA 2003), in which `ß` is `ss` and ASCII is unchanged.
fn punycode_label(label: &str) -> Option<String> {
    let label = if label.is_ascii() {
        label.to_owned()
    } else {
        let joiners = ['\u{200c}', '\u{200d}'];
        idna::domain_to_ascii(&label.replace('ß', "ss").replace('ς', "σ").replace(joiners, "")).ok()?
    };
    (1..64).contains(&label.len()).then_some(label)
}

/// Each pair of dots made one, from the left, and none at the ends.
fn without_doubled_dots(host: &[u8]) -> Vec<u8> {
    let mut single = Vec::with_capacity(host.len());
    let mut rest = host;
    while let Some((&byte, after)) = rest.split_first() {
        single.push(byte);
        rest = if byte == b'.' { after.strip_prefix(b".").unwrap_or(after) } else { after };
    }
    let start = single.iter().take_while(|&&byte| byte == b'.').count();
    let end = single[start..].iter().rev().take_while(|&&byte| byte == b'.').count();
    single[start..single.len() - end].to_vec()
}

/// The IPv4 address that a numeric host means: one number of 32 bits, or up to four parts of which
/// the last fills the remaining bytes. A part with a leading zero is octal.
fn address(host: &[u8]) -> Option<Ipv4Addr> {
    if !host.is_empty() && host.iter().all(u8::is_ascii_digit) {
        return Some(Ipv4Addr::from(lowest_32_bits(host)));
    }
    let parts: Vec<_> = host.split(|&byte| byte == b'.').collect();
    if parts.len() > 4 {
        return None;
    }
    let numbers = parts.iter().map(|part| read_part(part)).collect::<Option<Vec<u64>>>()?;
    let (&last, leading) = numbers.split_last()?;
    let last_bits = 8 * (4 - leading.len());
    if last >> last_bits != 0 || leading.iter().any(|number| *number > 255) {
        return None;
    }
    let high = leading.iter().zip([24, 16, 8]).map(|(number, shift)| number << shift).sum::<u64>();
    u32::try_from(high | last).ok().map(Ipv4Addr::from)
}

fn lowest_32_bits(digits: &[u8]) -> u32 {
    let add = |sum: u32, digit: &u8| sum.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'));
    digits.iter().fold(0, add)
}

fn read_part(part: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(part).ok()?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let radix = if text.len() > 1 && text.starts_with('0') { 8 } else { 10 };
    u64::from_str_radix(text, radix).ok()
}

/// How long a `www.`, `www2.` … at the beginning of the host is.
pub(super) fn www_length(host: &[u8]) -> usize {
    let Some(rest) = host.strip_prefix(b"www") else { return 0 };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if rest.get(digits) == Some(&b'.') { 3 + digits + 1 } else { 0 }
}

/// The default port of a scheme.
pub(super) fn default_port(scheme: &[u8]) -> Option<u16> {
    match scheme {
        _ if scheme.eq_ignore_ascii_case(b"http") => Some(80),
        _ if scheme.eq_ignore_ascii_case(b"https") => Some(443),
        _ => None,
    }
}

/// The host from its last label to its first.
pub(super) fn turned(host: &[u8], reverse_address: bool) -> Vec<u8> {
    if !reverse_address && is_address(host) {
        return host.to_vec();
    }
    let mut labels: Vec<_> = host.split(|&byte| byte == b'.').collect();
    labels.reverse();
    labels.join(&b',')
}

/// Whether the host is four numbers of up to three digits.
fn is_address(host: &[u8]) -> bool {
    let mut parts = host.split(|&byte| byte == b'.');
    let number = |part: &[u8]| (1..=3).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
    parts.clone().count() == 4 && parts.all(number)
}
