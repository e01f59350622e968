//! One path pattern: `*` for any text, `$` for the end, everything else for itself.
//!
//! Paths of rules and of URLs are normalised first, as RFC 9309 requires. Escapes of unreserved
//! characters are decoded, other escapes are written in upper case, and non-ASCII bytes are
//! escaped. A `*` or `$` in a URL is escaped as well, because in a rule only `%2A` and `%24` mean
//! them.

use std::borrow::Cow;

/// A normalised pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The texts between wildcards, in order; the first is the beginning of the path.
    segments: Vec<Box<[u8]>>,
    /// Whether the last segment must end the path.
    anchored: bool,
    /// The length of the pattern, which decides precedence.
    pub(super) length: usize,
}

impl Pattern {
    /// Parses the path of a rule; `None` if it matches nothing, because it begins with neither a
    /// slash nor a star.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !text.starts_with(['/', '*']) {
            return None;
        }
        let (text, anchored) = text.strip_suffix('$').map_or((text, false), |text| (text, true));
        let pieces: Vec<&str> = text.split('*').collect();
        let last = pieces.len() - 1;
        // Several stars in a row are one.
        let counts = |(at, piece): &(usize, &&str)| *at == 0 || *at == last || !piece.is_empty();
        let segments: Vec<Box<[u8]>> = pieces
            .iter()
            .enumerate()
            .filter(counts)
            .map(|(_, piece)| normalise(piece.as_bytes()).into())
            .collect();
        let stars = segments.len() - 1;
        let length =
            segments.iter().map(|segment| segment.len()).sum::<usize>() + stars + usize::from(anchored);
        Some(Self { segments, anchored, length })
    }

    /// The texts that every matching path contains.
    pub(super) fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.iter().map(|segment| &**segment)
    }

    /// Whether it matches a normalised path. Each segment is searched after the end of the previous
    /// one. Taking the first occurrence never loses a match, so there is no backtracking.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        let Some((first, others)) = self.segments.split_first() else { return false };
        let Some(mut rest) = path.strip_prefix(&**first) else { return false };
        let Some((last, between)) = others.split_last() else { return !self.anchored || rest.is_empty() };
        for segment in between {
            let Some(at) = memchr::memmem::find(rest, segment) else { return false };
            rest = &rest[at + segment.len()..];
        }
        if self.anchored { rest.ends_with(last) } else { memchr::memmem::find(rest, last).is_some() }
    }
}

/// The normalised path and query of a URL.
pub(super) fn path_of(url: &str) -> Vec<u8> {
    let url = url.split('#').next().unwrap_or("");
    let from_path = match url.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
            rest.find(['/', '?']).map_or("", |at| &rest[at..])
        }
        _ => url,
    };
    let slash = if from_path.starts_with('/') { "" } else { "/" };
    let path = [slash, from_path].concat();
    normalise(path.as_bytes()).into_owned()
}

/// Normalises a path without wildcards.
fn normalise(path: &[u8]) -> Cow<'_, [u8]> {
    let stays = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'%' | b'*' | b'$');
    if path.iter().all(stays) {
        return Cow::Borrowed(path);
    }
    let mut normal = Vec::with_capacity(path.len() + 16);
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        match escape(rest) {
            Some(hidden) => {
                if hidden.is_ascii_alphanumeric() || matches!(hidden, b'-' | b'.' | b'_' | b'~') {
                    normal.push(hidden);
                } else {
                    push_escaped(hidden, &mut normal);
                }
                rest = &rest[3..];
            }
            None => {
                if byte == b'%' || stays(&byte) {
                    normal.push(byte);
                } else {
                    push_escaped(byte, &mut normal);
                }
                rest = after;
            }
        }
    }
    Cow::Owned(normal)
}

/// The byte that an escape encodes.
fn escape(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn push_escaped(byte: u8, normal: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    normal.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, url: &str) -> bool {
        Pattern::parse(pattern).is_some_and(|pattern| pattern.matches(&path_of(url)))
    }

    #[test]
    fn wildcards_and_ends() {
        assert!(matches("/fish", "/fish.html") && matches("/fish*", "/fishheads/yummy.html?id=x"));
        assert!(!matches("/fish", "/Fish.asp") && !matches("/fish/", "/fish"));
        assert!(matches("/*.php", "/folder/any.php.file.html") && !matches("/*.php", "/windows.PHP"));
        assert!(
            matches("/*.php$", "/folder/filename.php") && !matches("/*.php$", "/filename.php?parameters")
        );
        assert!(
            matches("/fish*.php", "/fishheads/catfish.php?parameters") && !matches("/fish*.php", "/Fish.PHP")
        );
        assert!(matches("*.gif$", "http://h/a.gif") && !matches("*.gif$", "/a.gif?x"));
        assert!(matches("/*a*b$", "/abab") && !matches("/*a*b$", "/ba"));
        assert!(matches("/$", "http://h") && !matches("/$", "/a"));
        assert!(matches("/a**b", "/axb") && matches("/*$", "/anything"));
        assert!(!matches("fish", "/fish"));
    }

    /// The table of RFC 9309, section 2.2.2, and around it.
    #[test]
    fn spellings() {
        assert!(matches("/foo/bar?baz=quz", "/foo/bar?baz=quz"));
        assert!(matches("/foo/bar/ツ", "/foo/bar/%E3%83%84") && matches("/foo/bar/%e3%83%84", "/foo/bar/ツ"));
        assert!(matches("/foo/bar/%62%61%7A", "/foo/bar/baz"));
        assert!(matches("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"));
        assert!(!matches("/path/file-with-a-%2A.html", "/path/file-with-a-b.html"));
        assert!(matches("/path/foo-%24", "/path/foo-$") && matches("/a$b", "/a$b"));
        assert!(!matches("/a%2Fb", "/a/b") && matches("/a%2fb", "/a%2Fb"));
        assert!(matches("/wiki/x%3Mediation", "/wiki/x%3Mediation/y"));
    }

    #[test]
    fn where_a_path_begins() {
        let path = |url| String::from_utf8(path_of(url)).unwrap();
        assert_eq!(path("http://h"), "/");
        assert_eq!(path("http://h?a#b"), "/?a");
        assert_eq!(path("http://h/a?u=http://x/"), "/a?u=http://x/");
        assert_eq!(path("/a?u=http://x/"), "/a?u=http://x/");
        assert_eq!(path(""), "/");
    }

    /// The same question, asked of a slow and obvious matcher.
    fn slow(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => true,
            [b'$'] => path.is_empty(),
            [b'*', rest @ ..] => (0..=path.len()).any(|at| slow(rest, &path[at..])),
            [byte, rest @ ..] => path.first() == Some(byte) && slow(rest, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn as_a_slow_matcher_says(pattern in "/[ab*]{0,8}\\$?", path in "/[ab]{0,10}") {
            prop_assert_eq!(matches(&pattern, &path), slow(pattern.as_bytes(), path.as_bytes()));
        }

        /// Of paths whose every percent sign begins an escape: a lone one may come to stand before
        /// digits that an escape was hiding, as in `%a%30`.
        #[test]
        fn normalising_twice_is_normalising_once(path in "(%[0-9a-fA-F]{2}|[a-f0-9*$é/~ ]){0,20}") {
            let once = normalise(path.as_bytes()).into_owned();
            prop_assert_eq!(&normalise(&once)[..], &once[..]);
        }
    }
}
