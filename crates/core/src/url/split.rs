//! The five parts of a URL by the delimiters of RFC 3986 alone. Total: any text has these parts.
//!
//! For rules that must accept invalid URLs. [`Reference`](super::Reference) rejects them.

/// The parts of a text. Joined with their delimiters they give the text again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlParts<'a> {
    /// The text before the first colon, if it can be a scheme.
    pub scheme: Option<&'a str>,
    /// The text between `//` and the path.
    pub authority: Option<&'a str>,
    /// The path; may be empty.
    pub path: &'a str,
    /// The text after the first `?`.
    pub query: Option<&'a str>,
    /// The text after the first `#`.
    pub fragment: Option<&'a str>,
}

impl<'a> UrlParts<'a> {
    /// Splits any text at the delimiters of RFC 3986.
    pub fn of(text: &'a str) -> Self {
        let (text, fragment) = cut(text, b'#');
        let (text, query) = cut(text, b'?');
        let (scheme, rest) = split_scheme(text);
        let (authority, path) = match rest.strip_prefix("//") {
            Some(after) => {
                let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
                (Some(authority), path)
            }
            None => (None, rest),
        };
        Self { scheme, authority, path, query, fragment }
    }
}

/// Cuts a text at the first delimiter.
fn cut(text: &str, delimiter: u8) -> (&str, Option<&str>) {
    match memchr::memchr(delimiter, text.as_bytes()) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn split_scheme(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, text),
    }
}

/// Whether the text is a scheme: a letter, then letters, digits, `+`, `-` and `.`.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// The parts of an authority: user info, host with its brackets, and what follows the colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuthorityParts<'a> {
    pub(crate) user_info: Option<&'a str>,
    pub(crate) host: &'a str,
    pub(crate) port: Option<&'a str>,
}

impl<'a> AuthorityParts<'a> {
    pub(crate) fn of(authority: &'a str) -> Self {
        let (user_info, rest) = match authority.rsplit_once('@') {
            Some((user_info, rest)) => (Some(user_info), rest),
            None => (None, authority),
        };
        // Colons inside brackets belong to the address.
        let after_address = rest.rfind(']').map_or(0, |close| close + 1);
        let (host, port) = match rest[after_address..].rfind(':') {
            Some(colon) => (&rest[..after_address + colon], Some(&rest[after_address + colon + 1..])),
            None => (rest, None),
        };
        Self { user_info, host, port }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn joined(split: UrlParts<'_>) -> String {
        let mut text = String::new();
        let mut part = |before: &str, part: Option<&str>, after: &str| {
            if let Some(part) = part {
                text.extend([before, part, after]);
            }
        };
        part("", split.scheme, ":");
        part("//", split.authority, "");
        part("", Some(split.path), "");
        part("?", split.query, "");
        part("#", split.fragment, "");
        text
    }

    #[test]
    fn authorities() {
        let split = AuthorityParts::of("a@b@[::1]:80");
        assert_eq!((split.user_info, split.host, split.port), (Some("a@b"), "[::1]", Some("80")));
        let split = AuthorityParts::of("[::1]");
        assert_eq!((split.host, split.port), ("[::1]", None));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "[a-z0-9:/?#@é.+]{0,24}") {
            prop_assert_eq!(joined(UrlParts::of(&text)), text);
        }
    }
}
