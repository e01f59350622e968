//! Secrets: values that hide themselves, and URLs shown without their user information.
//!
//! A secret that can only leak by calling a method named `expose` is found by reading, not by
//! hoping. Nothing here encrypts or wipes memory: the enemy is the log line, not the debugger.

use std::fmt;

/// The text that replaces a hidden value.
pub const HIDDEN_TEXT: &str = "[hidden]";

/// Schemes whose URLs have an authority, however many slashes are written before it.
const WEB_SCHEMES: [&str; 5] = ["http", "https", "ftp", "ws", "wss"];

/// Schemes whose URLs may hold an `@` that follows no user information.
const OPAQUE_SCHEMES: [&str; 12] =
    ["acct", "cid", "data", "javascript", "mailto", "mid", "news", "sip", "sips", "tel", "urn", "xmpp"];

/// A value that neither `Debug` nor `Display` shows, and that cannot be serialised.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Hides a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for the one place that needs it.
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// Consumes the secret and returns the value.
    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN_TEXT)
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN_TEXT)
    }
}

/// The text of a URL for messages, with its user information hidden. It accepts any text, since
/// most URLs in messages are invalid.
///
/// ```
/// # use varve_core::secret::ShownUrl;
/// assert_eq!(ShownUrl("https://me:pw@example.com/@x").to_string(), "https://[hidden]@example.com/@x");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShownUrl<'a>(
    /// The whole text.
    pub &'a str,
);

impl ShownUrl<'_> {
    /// Whether the text holds user information: the one test for every URL that comes in.
    pub fn has_user_info(&self) -> bool {
        self.user_info().is_some()
    }

    /// Whether the text, a pattern of URLs, holds user information. A wildcard before the `@` is
    /// none: `https://*@example.com/**` finds URLs that hold some.
    pub fn pattern_has_user_info(&self) -> bool {
        self.user_info().is_some_and(|(start, at)| !self.0[start..at].contains('*'))
    }

    /// The start of the user information, and the position of the `@` after it.
    fn user_info(&self) -> Option<(usize, usize)> {
        let start = self.authority_start()?;
        let rest = &self.0[start..];
        let authority = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
        if let Some(at) = authority.rfind('@') {
            return Some((start, start + at));
        }
        // A password with a bare `/`, `?` or `#` ends the authority early. The text after the colon
        // is then not a port.
        let (_, port) = authority.rsplit_once(':')?;
        if authority.ends_with(']') || port.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        rest.rfind('@').map(|at| (start, start + at))
    }

    /// The position where the authority begins, if the text may have one.
    ///
    /// Browsers take any number of slashes after the scheme of a web URL, also none and also
    /// backslashes. People leave the scheme out: then a name and a password look like a scheme and
    /// a path.
    fn authority_start(&self) -> Option<usize> {
        let begin = self.0.len() - self.0.trim_start().len();
        let (scheme, rest) = self.0[begin..].split_once(':').unwrap_or_default();
        let after = begin + scheme.len() + 1;
        if WEB_SCHEMES.iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
            let slashes = |letter: char| matches!(letter, '/' | '\\') || letter.is_whitespace();
            return Some(after + rest.len() - rest.trim_start_matches(slashes).len());
        }
        let is_word = |text: &str| !text.is_empty() && !text.contains(['/', '?', '#', '\\', '@', '[']);
        let is_opaque = OPAQUE_SCHEMES.iter().any(|opaque| scheme.eq_ignore_ascii_case(opaque));
        let before_path = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
        if is_word(scheme) && !is_opaque && before_path.contains('@') {
            return Some(begin);
        }
        self.0.find("//").map(|slashes| slashes + 2)
    }
}

impl fmt::Display for ShownUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user_info() {
            Some((start, at)) => write!(f, "{}{HIDDEN_TEXT}{}", &self.0[..start], &self.0[at..]),
            None => f.write_str(self.0),
        }
    }
}

impl fmt::Debug for ShownUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_hide() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "[hidden] [hidden] Some([hidden])");
        assert_eq!(*secret.expose(), "hunter2");
    }

    #[test]
    fn user_info_is_hidden_and_nothing_else() {
        for (url, shown) in [
            ("https://example.com/a@b", "https://example.com/a@b"),
            ("https://example.com:8080/a@b", "https://example.com:8080/a@b"),
            ("https://[::1]/a@b", "https://[::1]/a@b"),
            ("https://user@example.com", "https://[hidden]@example.com"),
            ("//user:pw@example.com?q=a@b", "//[hidden]@example.com?q=a@b"),
            ("https://a@b@example.com/", "https://[hidden]@example.com/"),
            ("https://user:p/w@example.com/", "https://[hidden]@example.com/"),
            ("https://user:p#w?x@example.com/", "https://[hidden]@example.com/"),
            ("https://user:p\\w@example.com/", "https://[hidden]@example.com/"),
            ("https:user:pw@example.com/", "https:[hidden]@example.com/"),
            ("HTTP:/user:pw@example.com/", "HTTP:/[hidden]@example.com/"),
            ("https:\\\\user:pw@example.com/", "https:\\\\[hidden]@example.com/"),
            ("user:pw@example.com/", "[hidden]@example.com/"),
            (" user:pw@example.com", " [hidden]@example.com"),
            ("example.com:80/a@b", "example.com:80/a@b"),
            ("mailto:someone@example.com", "mailto:someone@example.com"),
            ("https:/example.com/a@b", "https:/example.com/a@b"),
            ("", ""),
        ] {
            assert_eq!(ShownUrl(url).to_string(), shown);
        }
        for (pattern, has) in [
            ("https://user:pw@example.com/**", true),
            ("https://*@example.com/**", false),
            ("**://**@2x.png", false),
            ("**@2x.png", false),
        ] {
            assert_eq!(ShownUrl(pattern).pattern_has_user_info(), has, "{pattern}");
        }
        assert_eq!(format!("{:?}", ShownUrl("http://u:p@h/")), "\"http://[hidden]@h/\"");
    }
}
