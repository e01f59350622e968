//! `/web/<time><modifier>/<url>`: the address of a capture.

use varve_archive::verbs::replay::{Found, When};

/// The address of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The digits of the time; empty for the newest.
    pub(crate) digits: String,
    /// How it is shown.
    pub(crate) modifier: Modifier,
    /// The URL that was captured, as it was asked for.
    pub(crate) url: String,
}

/// How a capture is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modifier {
    /// With its links leading to the archive.
    None,
    /// `id_`: as it is.
    Raw,
    /// `cs_`: as a style sheet, whatever its type says.
    Style,
    /// `js_` or `im_`: as something without links, whatever its type says.
    Plain,
}

/// Why an address is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadAddress {
    /// Its time is none.
    Time,
    /// It names no URL.
    Url,
}

impl Address {
    /// Reads what follows `/web/`.
    pub(crate) fn parse(text: &str) -> Result<Self, BadAddress> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (time, rest) = text.split_at(digits);
        let known = modifier(rest);
        let (modifier, rest) = known.unwrap_or((Modifier::None, rest));
        let rest = match rest.strip_prefix('/') {
            Some(rest) if digits > 0 || known.is_some() => rest,
            // No time: digits may be how a URL begins.
            _ => return Self::newest(text),
        };
        if !time.is_empty() && When::read(time).is_none() {
            return Err(BadAddress::Time);
        }
        Ok(Self { digits: time.to_owned(), modifier, url: url(rest)? })
    }

    /// Where a capture is shown, named so that none of its neighbours is meant.
    pub(crate) fn of(found: &Found) -> Self {
        Self { digits: found.digits(), modifier: Modifier::None, url: found.capture.url.clone() }
    }

    /// The newest capture of what follows, which is a URL alone.
    pub(crate) fn newest(text: &str) -> Result<Self, BadAddress> {
        Ok(Self { digits: String::new(), modifier: Modifier::None, url: url(text)? })
    }

    /// The time that is asked for; none for the newest.
    pub(crate) fn time(&self) -> Option<When> {
        When::read(&self.digits)
    }

    /// Where it is on this server.
    pub(crate) fn path(&self) -> String {
        format!("/web/{}{}/{}", self.digits, self.modifier.text(), self.url)
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
    let (word, rest) = text.split_at_checked(3)?;
    let modifier = match word {
        "id_" => Modifier::Raw,
        "cs_" => Modifier::Style,
        "js_" | "im_" | "oe_" => Modifier::Plain,
        // What other tools call pages and frames.
        "mp_" | "if_" | "fr_" => Modifier::None,
        _ => return None,
    };
    Some((modifier, rest))
}

/// The URL that an address names: proxies merge slashes, people leave out the scheme, forms escape it.
fn url(text: &str) -> Result<String, BadAddress> {
    let text = match text.get(..9).map(str::to_ascii_lowercase) {
        Some(head) if head.starts_with("http%3a") || head.starts_with("https%3a") => {
            percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
        }
        _ => text.to_owned(),
    };
    for scheme in ["http:/", "https:/"] {
        let Some(rest) = strip(&text, scheme) else { continue };
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        return if rest.is_empty() { Err(BadAddress::Url) } else { Ok(format!("{scheme}/{rest}")) };
    }
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let looks_like_host = host.contains('.') || host.contains(':') || host == "localhost";
    if host.contains("://") || text.starts_with('/') || !looks_like_host {
        return Err(BadAddress::Url);
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
    fn addresses_are_read_and_written() {
        for (text, path) in [
            ("20260101000000/http://h/a?b=c&d", "/web/20260101000000/http://h/a?b=c&d"),
            ("20260101000000id_/https://h/", "/web/20260101000000id_/https://h/"),
            ("20260101000000123456/http://h/", "/web/20260101000000123456/http://h/"),
            ("2026mp_/http://h/", "/web/2026/http://h/"),
            ("2026im_/http://h/", "/web/2026js_/http://h/"),
            ("id_/http://h/", "/web/id_/http://h/"),
            ("http://h/", "/web//http://h/"),
            ("2026/http:/h/", "/web/2026/http://h/"),
            ("2026/http%3A%2F%2Fh%2Fa%20b", "/web/2026/http://h/a b"),
            ("2026/h.example/x", "/web/2026/http://h.example/x"),
            ("127.0.0.1:80/x", "/web//http://127.0.0.1:80/x"),
            ("HTTP://h/", "/web//http://h/"),
        ] {
            assert_eq!(Address::parse(text).map(|address| address.path()).as_deref(), Ok(path), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_told() {
        for (text, why) in [
            ("20261301000000/http://h/", BadAddress::Time),
            ("20260/http://h/", BadAddress::Time),
            ("202601010000001/http://h/", BadAddress::Time),
            ("2026/", BadAddress::Url),
            ("", BadAddress::Url),
            ("2026/../../etc/passwd", BadAddress::Url),
            ("2026/ftp://h/", BadAddress::Url),
            ("2026/javascript:alert(1)", BadAddress::Url),
            ("2026/http://", BadAddress::Url),
        ] {
            let address = Address::parse(text);
            // A scheme without a name may look like a host with a port; it is asked for, and not found.
            let is_harmless = address.as_ref().is_ok_and(|address| address.url.starts_with("http://"));
            assert!(address == Err(why) || is_harmless, "{text}: {address:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,40}") {
            let _ = Address::parse(&text);
        }

        #[test]
        fn what_is_written_is_read_again(time in "(1[0-9]{3}|20[0-9]{2})0[1-9]", rest in "[a-z0-9?=&/%#.]{0,20}", raw: bool) {
            let modifier = if raw { Modifier::Raw } else { Modifier::None };
            let address = Address { digits: time, modifier, url: format!("https://h/{rest}") };
            let path = address.path();
            prop_assert_eq!(Address::parse(path.strip_prefix("/web/").unwrap()), Ok(address));
        }
    }
}
