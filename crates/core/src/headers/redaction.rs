//! Redaction: which headers carry secrets, and what is shown instead of their values.
//!
//! Views apply it when headers are shown, compared or stored in rows. A request records none of these
//! headers at all.

/// Headers that carry credentials or request them. Every view hides them unless redaction is off.
const SENSITIVE_HEADERS: [&str; 8] = [
    "authorization",
    "cookie",
    "proxy-authenticate",
    "proxy-authorization",
    "set-cookie",
    "www-authenticate",
    "x-api-key",
    "x-auth-token",
];

/// The single value that a redacted header has.
pub const REDACTED_VALUE: &str = "[REDACTED]";

/// Whether sensitive headers are hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Redaction {
    /// Their values become [`REDACTED_VALUE`].
    #[default]
    On,
    /// Their values are shown.
    Off,
}

/// Whether the header carries a secret.
pub fn is_sensitive(name: &str) -> bool {
    SENSITIVE_HEADERS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_binary_search() {
        assert!(SENSITIVE_HEADERS.is_sorted());
        assert!(is_sensitive("x-api-key") && !is_sensitive("x-csrf-token"));
    }
}
