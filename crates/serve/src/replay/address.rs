//! `/web/<time><modifier>/<url>`: the address of a capture.

use varve_archive::verbs::replay::{ReplayCapture, ReplayTime};
use varve_core::secret::ShownUrl;

/// The address of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplayAddress {
    /// The digits of the time; empty for the newest.
    pub(crate) digits: String,
    /// How the capture is rewritten.
    pub(crate) modifier: Modifier,
    /// The captured URL, as the client wrote it.
    pub(crate) url: String,
}

/// How a capture is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modifier {
    /// By its type, with links rewritten to the archive.
    None,
    /// `id_`: not at all.
    Raw,
    /// `cs_`: as a style sheet, independently of its type.
    Style,
    /// `js_`, `im_` and others: not at all, because it is a script, a worker or an image.
    Plain,
}

/// Why a text is not the address of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressError {
    /// The time is not valid.
    Time,
    /// There is no URL.
    Url,
    /// The URL contains a user name or a password.
    UserInfo,
}

impl ReplayAddress {
    /// Parses the part of a request target after `/web/`.
    pub(crate) fn parse(text: &str) -> Result<Self, AddressError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (time, rest) = text.split_at(digits);
        let known = modifier(rest);
        let (modifier, rest) = known.unwrap_or((Modifier::None, rest));
        let rest = match rest.strip_prefix('/') {
            Some(rest) if digits > 0 || known.is_some() => rest,
            // Without a time: a URL may begin with digits.
            _ => return Self::newest(text),
        };
        if !time.is_empty() && ReplayTime::read(time).is_none() {
            return Err(AddressError::Time);
        }
        Ok(Self { digits: time.to_owned(), modifier, url: url(rest)? })
    }

    /// The address of a capture, precise enough to mean no other capture.
    pub(crate) fn of(found: &ReplayCapture) -> Self {
        Self { digits: found.digits(), modifier: Modifier::None, url: found.capture.url.clone() }
    }

    /// The newest capture of a URL, given without a time.
    pub(crate) fn newest(text: &str) -> Result<Self, AddressError> {
        Ok(Self { digits: String::new(), modifier: Modifier::None, url: url(text)? })
    }

    /// The requested time, or none for the newest capture.
    pub(crate) fn time(&self) -> Option<ReplayTime> {
        ReplayTime::read(&self.digits)
    }

    /// The path on the replay origin.
    pub(crate) fn path(&self) -> String {
        let when = format!("{}{}", self.digits, self.modifier.text());
        // An empty time would leave `//`, which is not an address.
        let slash = if when.is_empty() { "" } else { "/" };
        format!("/web/{when}{slash}{}", self.url)
    }
}

impl Modifier {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Raw => "id_",
            Self::Style => "cs_",
            Self::Plain => "js_",
        }
    }
}

fn modifier(text: &str) -> Option<(Modifier, &str)> {
    let (word, rest) = text.split_at(text.find('_')? + 1);
    let modifier = match word {
        "id_" => Modifier::Raw,
        "cs_" => Modifier::Style,
        "js_" | "im_" | "oe_" | "sw_" | "wkr_" | "ce_" => Modifier::Plain,
        // Modifiers of other tools for pages and frames.
        "mp_" | "if_" | "fr_" => Modifier::None,
        _ => return None,
    };
    Some((modifier, rest))
}

/// The URL in an address. Proxies merge slashes, people leave out the scheme, forms escape the
/// whole URL.
fn url(text: &str) -> Result<String, AddressError> {
    let url = spelled_url(text)?;
    if ShownUrl(&url).has_user_info() { Err(AddressError::UserInfo) } else { Ok(url) }
}

fn spelled_url(text: &str) -> Result<String, AddressError> {
    let text = match text.get(..9).map(str::to_ascii_lowercase) {
        Some(head) if head.starts_with("http%3a") || head.starts_with("https%3a") => {
            percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
        }
        _ => text.to_owned(),
    };
    for scheme in ["http:/", "https:/"] {
        let Some(rest) = strip(&text, scheme) else { continue };
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        return if rest.is_empty() { Err(AddressError::Url) } else { Ok(format!("{scheme}/{rest}")) };
    }
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let looks_like_host = host.contains('.') || host.contains(':') || host == "localhost";
    if host.contains("://") || text.starts_with('/') || !looks_like_host {
        return Err(AddressError::Url);
    }
    Ok(format!("http://{text}"))
}

fn strip<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_parsed_and_written() {
        for (text, path) in [
            ("20260101000000/http://h/a?b=c&d", "/web/20260101000000/http://h/a?b=c&d"),
            ("20260101000000id_/https://h/", "/web/20260101000000id_/https://h/"),
            ("20260101000000123456/http://h/", "/web/20260101000000123456/http://h/"),
            ("2026mp_/http://h/", "/web/2026/http://h/"),
            ("2026im_/http://h/", "/web/2026js_/http://h/"),
            ("2026wkr_/http://h/", "/web/2026js_/http://h/"),
            ("2026sw_/http://h/a_b", "/web/2026js_/http://h/a_b"),
            ("id_/http://h/", "/web/id_/http://h/"),
            ("http://h/", "/web/http://h/"),
            ("2026/http:/h/", "/web/2026/http://h/"),
            ("2026/http%3A%2F%2Fh%2Fa%20b", "/web/2026/http://h/a b"),
            ("2026/h.example/x", "/web/2026/http://h.example/x"),
            ("127.0.0.1:80/x", "/web/http://127.0.0.1:80/x"),
            ("HTTP://h/", "/web/http://h/"),
        ] {
            assert_eq!(
                ReplayAddress::parse(text).map(|address| address.path()).as_deref(),
                Ok(path),
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for (text, why) in [
            ("20261301000000/http://h/", AddressError::Time),
            ("20260/http://h/", AddressError::Time),
            ("202601010000001/http://h/", AddressError::Time),
            ("2026/", AddressError::Url),
            ("", AddressError::Url),
            ("2026/../../etc/passwd", AddressError::Url),
            ("2026/ftp://h/", AddressError::Url),
            ("2026/javascript:alert(1)", AddressError::Url),
            ("2026/http://", AddressError::Url),
            ("2026/http://me:pw@h/", AddressError::UserInfo),
            ("me:pw@h.example/", AddressError::UserInfo),
            ("http%3A%2F%2Fme%3Apw%40h%2F", AddressError::UserInfo),
        ] {
            let address = ReplayAddress::parse(text);
            // A scheme without a host looks like a host with a port: it is looked up, and not
            // found.
            let is_harmless = address.as_ref().is_ok_and(|address| address.url.starts_with("http://"));
            assert!(address == Err(why) || is_harmless, "{text}: {address:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(text in "\\PC{0,40}") {
            let _ = ReplayAddress::parse(&text);
        }

        #[test]
        fn written_addresses_are_parsed_again(time in "((1[0-9]{3}|20[0-9]{2})0[1-9])?", rest in "[a-z0-9?=&/%#.]{0,20}", raw: bool) {
            let modifier = if raw { Modifier::Raw } else { Modifier::None };
            let address = ReplayAddress { digits: time, modifier, url: format!("https://h/{rest}") };
            let path = address.path();
            prop_assert_eq!(ReplayAddress::parse(path.strip_prefix("/web/").unwrap()), Ok(address));
        }
    }
}
