//! HTTP headers: [`Headers`], exactly as they were on the wire, and [`HeaderView`], how people compare them.
//!
//! The two are never mixed. What is archived keeps every byte, in its case and order, with duplicates; what is
//! shown, stored in rows and diffed is a view made from it, lower-cased, sorted and redacted. Framing (reading a
//! header block, writing one) is not here: that belongs to the crates that hold the wire bytes.

mod names;
mod view;

pub use names::{is_benign, is_order_sensitive, is_sensitive};
pub use view::{HeaderView, REDACTED, Redaction};

use std::borrow::Cow;

/// One header line: the bytes of its name and of its value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Header {
    /// The name, in the case it had.
    pub name: Vec<u8>,
    /// The value, without the line's end.
    pub value: Vec<u8>,
}

impl Header {
    /// Whether it can stand in an answer: a token for a name, and a value that does not end its line (RFC 9110, 5.1 and 5.5).
    /// What came from the wire need not be; what people hand over should.
    pub fn is_well_formed(&self) -> bool {
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        let ends_line = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
        !self.name.is_empty() && self.name.iter().all(is_token) && !self.value.iter().any(ends_line)
    }
}

/// An ordered list of headers that loses nothing: case, order, duplicates and odd bytes all stay.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Headers(Vec<Header>);

impl Headers {
    /// No headers.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a header behind the others, even if one of that name is there.
    pub fn push(&mut self, name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.0.push(Header { name: name.into(), value: value.into() });
    }

    /// The value of the first header of that name, compared without regard to case.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        self.0.iter().find(|header| header.is(name.as_ref())).map(|header| header.value.as_slice())
    }

    /// The values of all headers of that name, in order.
    pub fn get_all<'a>(&'a self, name: &'a (impl AsRef<[u8]> + ?Sized)) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter(|header| header.is(name.as_ref())).map(|header| header.value.as_slice())
    }

    /// The value of the first header of that name, as text, without white space around it.
    pub fn get_text(&self, name: impl AsRef<[u8]>) -> Option<Cow<'_, str>> {
        self.get(name).map(|value| match decode(value) {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        })
    }

    /// Whether a header of that name is there.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.get(name).is_some()
    }

    /// The headers, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Header> {
        self.0.iter()
    }

    /// Keeps the headers for which `keep` says so, in order.
    pub fn retain(&mut self, keep: impl FnMut(&Header) -> bool) {
        self.0.retain(keep);
    }

    /// How many headers there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Header {
    /// Whether this header has that name, compared without regard to case.
    pub fn is(&self, name: &[u8]) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

impl<N: Into<Vec<u8>>, V: Into<Vec<u8>>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let header = |(name, value): (N, V)| Header { name: name.into(), value: value.into() };
        Self(pairs.into_iter().map(header).collect())
    }
}

impl<'a> IntoIterator for &'a Headers {
    type Item = &'a Header;
    type IntoIter = std::slice::Iter<'a, Header>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl IntoIterator for Headers {
    type Item = Header;
    type IntoIter = std::vec::IntoIter<Header>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The text of header bytes: UTF-8 where they are UTF-8, else Latin-1, which HTTP meant them to be. Nothing is
/// replaced: distinct bytes of one reading stay distinct texts.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Headers {
        Headers::from_iter([("Set-Cookie", "a=1"), ("server", " nginx "), ("set-cookie", "b=2")])
    }

    #[test]
    fn look_ups_ignore_case_and_keep_order() {
        let headers = sample();
        assert_eq!(headers.get("SET-COOKIE"), Some(&b"a=1"[..]));
        assert_eq!(headers.get_all("set-cookie").collect::<Vec<_>>(), [b"a=1", b"b=2"]);
        assert_eq!(headers.get("absent"), None);
        assert_eq!(headers.get_text("Server").as_deref(), Some("nginx"));
        assert_eq!(headers.iter().map(|header| &header.name[..]).next(), Some(&b"Set-Cookie"[..]));
    }

    #[test]
    fn bytes_that_are_not_utf_8_read_as_latin_1() {
        assert_eq!(decode("é".as_bytes()), "é");
        assert_eq!(decode(b"caf\xe9"), "café");
    }
}
