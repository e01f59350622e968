//! What a body is shown as: which rewriting it needs, and doing it.

use std::io::{self, Read, Write};

use encoding_rs::Encoding;
use varve_page::kind::Kind;
use varve_page::rewrite::{Links, Page, css, html, manifest, playlist};
use varve_page::{charset, rewrite};

use super::address::{Address, Modifier};

/// So much of a body is looked at to know its encoding.
const START: usize = 16 << 10;
/// Longer style sheets, manifests and playlists are shown as they are.
const LONGEST: u64 = 16 << 20;

/// What a body is shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A page, with our script in it.
    Page,
    /// A piece of a page, which a script asks for.
    Piece,
    /// A picture in SVG.
    Picture,
    /// A style sheet.
    Style,
    /// A web manifest.
    Manifest,
    /// A list of media.
    Playlist,
    /// Itself.
    Raw,
}

impl Form {
    /// What a body is shown as. `destination` is what the browser says that it wants it for.
    pub(super) fn of(
        content_type: Option<&str>,
        start: &[u8],
        modifier: Modifier,
        destination: Option<&str>,
    ) -> Self {
        match (modifier, destination) {
            (Modifier::Raw | Modifier::Plain, _)
            | (_, Some("script" | "worker" | "sharedworker" | "image")) => {
                return if modifier == Modifier::None && is_svg(content_type) {
                    Self::Picture
                } else {
                    Self::Raw
                };
            }
            (Modifier::Style, _) | (_, Some("style")) => return Self::Style,
            _ => {}
        }
        match essence(content_type).as_str() {
            // What a script asks for may be called so and be something else.
            "text/html" | "application/xhtml+xml" if destination == Some("empty") => match is_markup(start) {
                true => Self::Piece,
                false => Self::Raw,
            },
            "text/html" | "application/xhtml+xml" => Self::Page,
            "text/css" => Self::Style,
            "image/svg+xml" => Self::Picture,
            "application/manifest+json" => Self::Manifest,
            "application/vnd.apple.mpegurl"
            | "application/x-mpegurl"
            | "audio/mpegurl"
            | "audio/x-mpegurl" => Self::Playlist,
            // Nobody said: a browser would look.
            "" if Kind::of(start, None) == Kind::Html => Self::Page,
            _ if destination == Some("manifest") => Self::Manifest,
            _ => Self::Raw,
        }
    }

    /// A letter for tags: the same body in another form is another answer.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Page => 'p',
            Self::Piece => 'f',
            Self::Picture => 'i',
            Self::Style => 's',
            Self::Manifest => 'm',
            Self::Playlist => 'l',
            Self::Raw => 'r',
        }
    }
}

fn essence(content_type: Option<&str>) -> String {
    content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a text begins as markup does.
fn is_markup(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    start.starts_with(b"<") || matches!(start.get(..2), Some(b"\xff\xfe" | b"\xfe\xff"))
}

fn is_svg(content_type: Option<&str>) -> bool {
    essence(content_type) == "image/svg+xml"
}

/// A body whose beginning is known.
pub(super) struct Opened {
    pub(super) start: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

impl Opened {
    /// Reads the beginning.
    pub(super) fn read(mut rest: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut start = Vec::new();
        rest.by_ref().take(START as u64).read_to_end(&mut start)?;
        Ok(Self { start, rest })
    }

    /// All of it, from its first byte.
    pub(super) fn into_reader(self) -> impl Read + Send {
        io::Cursor::new(self.start).chain(self.rest)
    }
}

/// A body, and how it becomes what is shown.
pub(super) struct Rewriting {
    pub(super) form: Form,
    /// The URL of the capture.
    pub(super) url: String,
    /// Where it is asked for: links lead to the same time.
    pub(super) address: Address,
    /// The encoding of the text.
    pub(super) encoding: &'static Encoding,
}

impl Rewriting {
    /// The type of what is written, where that is not the type of what was captured.
    pub(super) fn content_type(&self, original: Option<&str>) -> Option<String> {
        let kind = match self.form {
            Form::Page if essence(original).is_empty() => "text/html".to_owned(),
            Form::Style => "text/css".to_owned(),
            Form::Page | Form::Piece | Form::Picture | Form::Playlist | Form::Manifest => essence(original),
            Form::Raw => return None,
        };
        let charset = match self.form {
            Form::Page | Form::Piece | Form::Picture if self.encoding.is_ascii_compatible() => self.encoding,
            _ => encoding_rs::UTF_8,
        };
        Some(format!("{kind}; charset={}", charset.name().to_ascii_lowercase()))
    }

    /// Writes what is shown.
    pub(super) fn write(&self, body: Opened, output: &mut dyn Write) -> io::Result<()> {
        let digits = self.address.digits.clone();
        let to = move |url: &str| {
            Address { url: url.to_owned(), modifier: Modifier::None, digits: digits.clone() }.path()
        };
        let Ok(links) = Links::new(&self.url, to) else {
            return io::copy(&mut body.into_reader(), output).map(|_| ());
        };
        let mut input = body.into_reader();
        match self.form {
            Form::Page => {
                let first = format!("<script src=\"{}\"></script>", super::SCRIPT);
                let page = Page { links, encoding: self.encoding, first: Some(first) };
                html(&mut input, page, output).map(|_| ())
            }
            Form::Picture | Form::Piece => {
                let page = Page { links, encoding: self.encoding, first: None };
                html(&mut input, page, output).map(|_| ())
            }
            Form::Raw => io::copy(&mut input, output).map(|_| ()),
            Form::Style | Form::Manifest | Form::Playlist => self.write_whole(&mut input, &links, output),
        }
    }

    /// Formats that are rewritten in memory, unless they are too long.
    fn write_whole(
        &self,
        input: &mut dyn Read,
        links: &rewrite::Links,
        output: &mut dyn Write,
    ) -> io::Result<()> {
        let mut body = Vec::new();
        input.take(LONGEST).read_to_end(&mut body)?;
        if body.len() as u64 == LONGEST {
            output.write_all(&body)?;
            return io::copy(input, output).map(|_| ());
        }
        let text = || self.encoding.decode_with_bom_removal(&body).0;
        match self.form {
            Form::Manifest => output.write_all(&manifest(&body, links).unwrap_or_else(|| body.clone())),
            Form::Playlist => output.write_all(playlist(&text(), links).as_bytes()),
            _ => output.write_all(css(&text(), links).as_bytes()),
        }
    }
}

/// The encoding of a body.
pub(super) fn encoding(start: &[u8], content_type: Option<&str>) -> &'static Encoding {
    charset::of_start(start, content_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_follow_types_and_wishes() {
        let form = |kind, destination| Form::of(kind, b"<html>", Modifier::None, destination);
        assert_eq!(form(Some("Text/HTML; charset=x"), None), Form::Page);
        assert_eq!(form(None, None), Form::Page);
        assert_eq!(form(Some("text/plain"), None), Form::Raw);
        assert_eq!(form(Some("text/html"), Some("script")), Form::Raw);
        assert_eq!(form(Some("text/html"), Some("empty")), Form::Piece);
        let json = Form::of(Some("text/html"), b" {\"a\":\"<b>\"}", Modifier::None, Some("empty"));
        assert_eq!(json, Form::Raw);
        assert_eq!(form(Some("image/svg+xml"), Some("image")), Form::Picture);
        assert_eq!(form(Some("text/html"), Some("style")), Form::Style);
        assert_eq!(form(Some("application/json"), Some("manifest")), Form::Manifest);
        assert_eq!(Form::of(Some("text/html"), b"", Modifier::Raw, None), Form::Raw);
    }
}
