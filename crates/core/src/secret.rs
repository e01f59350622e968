//! Secrets: values that hide themselves, and URLs shown without their user information.
//!
//! A secret that can only leak by calling a method named `expose` is found by reading, not by
//! hoping. Nothing here encrypts or wipes memory: the enemy is the log line, not the debugger.

use std::fmt;

/// The text that replaces a hidden value.
pub const HIDDEN_TEXT: &str = "[hidden]";

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
    /// Whether the text holds user information.
    pub fn has_user_info(&self) -> bool {
        self.user_info().is_some()
    }

    /// The start of the user information, and the position of the `@` after it.
    fn user_info(&self) -> Option<(usize, usize)> {
        let start = self.0.find("//")? + 2;
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
            ("mailto:someone@example.com", "mailto:someone@example.com"),
            ("", ""),
        ] {
            assert_eq!(ShownUrl(url).to_string(), shown);
        }
        assert_eq!(format!("{:?}", ShownUrl("http://u:p@h/")), "\"http://[hidden]@h/\"");
    }
}
