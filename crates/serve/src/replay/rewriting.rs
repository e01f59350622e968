//! How a captured body is rewritten for replay: by its media type and by what the browser uses it
//! for.

use std::io::{self, Read};

use bytes::Bytes;
use encoding_rs::Encoding;
use varve_page::charset;
use varve_page::kind::BodyKind;
use varve_page::rewrite::{
    FirstMarkup, HtmlRewrite, LinkRewriter, RewrittenHtml, ShownIn, css, manifest, playlist,
};

use super::address::{Modifier, ReplayAddress};
use crate::body::{BodyChunks, ReadChunks};

/// How much of a body is read to detect its encoding and kind.
const PREFIX_BYTES: usize = 16 << 10;
/// Longer style sheets, manifests and playlists are not rewritten.
const MAX_REWRITTEN_BYTES: u64 = 16 << 20;

/// As what a body is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyForm {
    /// A page, with the replay script in it.
    Page,
    /// HTML that a script requested.
    Fragment,
    /// An SVG document, with the replay script in it.
    Svg,
    /// An SVG image, whose scripts do not run.
    SvgImage,
    /// A style sheet.
    StyleSheet,
    /// A web manifest.
    Manifest,
    /// A media playlist.
    Playlist,
    /// A script that calls another function than the captured one.
    Jsonp,
    /// Unchanged bytes.
    Raw,
}

impl BodyForm {
    /// Chooses the form. `destination` is the request's `Sec-Fetch-Dest`.
    pub(super) fn of(
        content_type: Option<&str>,
        start: &[u8],
        modifier: Modifier,
        destination: Option<&str>,
    ) -> Self {
        match (modifier, destination) {
            (Modifier::None, Some("image")) if is_svg(content_type) => return Self::SvgImage,
            (Modifier::Raw | Modifier::Plain, _)
            | (_, Some("script" | "worker" | "sharedworker" | "image")) => return Self::Raw,
            (Modifier::Style, _) | (_, Some("style")) => return Self::StyleSheet,
            _ => {}
        }
        match essence(content_type).as_str() {
            // Responses to scripts are often labelled as HTML without being HTML.
            "text/html" | "application/xhtml+xml" if destination == Some("empty") => match is_markup(start) {
                true => Self::Fragment,
                false => Self::Raw,
            },
            "text/html" | "application/xhtml+xml" => Self::Page,
            "text/css" => Self::StyleSheet,
            "image/svg+xml" if destination == Some("empty") => Self::SvgImage,
            "image/svg+xml" => Self::Svg,
            "application/manifest+json" => Self::Manifest,
            "application/vnd.apple.mpegurl"
            | "application/x-mpegurl"
            | "audio/mpegurl"
            | "audio/x-mpegurl" => Self::Playlist,
            // Without a type, browsers sniff the content.
            "" if BodyKind::of(start, None) == BodyKind::Html => Self::Page,
            _ if destination == Some("manifest") => Self::Manifest,
            _ => Self::Raw,
        }
    }

    /// Whether a browser may take the body for a document and run scripts in it, without the replay
    /// script before them.
    pub(super) fn may_run_scripts(self, content_type: Option<&str>) -> bool {
        let essence = essence(content_type);
        let is_document = matches!(essence.as_str(), "" | "text/html") || essence.ends_with("xml");
        match self {
            Self::Raw | Self::Jsonp | Self::SvgImage | Self::Fragment => is_document,
            Self::Page | Self::Svg | Self::StyleSheet | Self::Manifest | Self::Playlist => false,
        }
    }

    /// Part of the ETag: another form of the same body is another response.
    pub(super) fn etag_letter(self) -> char {
        match self {
            Self::Page => 'p',
            Self::Fragment => 'f',
            Self::Svg => 'v',
            Self::SvgImage => 'i',
            Self::StyleSheet => 's',
            Self::Manifest => 'm',
            Self::Playlist => 'l',
            Self::Jsonp => 'j',
            Self::Raw => 'r',
        }
    }
}

fn essence(content_type: Option<&str>) -> String {
    content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether the content starts like markup.
fn is_markup(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    start.starts_with(b"<") || matches!(start.get(..2), Some(b"\xff\xfe" | b"\xfe\xff"))
}

fn is_svg(content_type: Option<&str>) -> bool {
    essence(content_type) == "image/svg+xml"
}

/// An open body whose first bytes were read.
pub(super) struct BodyPrefix {
    pub(super) start: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

impl BodyPrefix {
    /// Reads the first bytes.
    pub(super) fn read(mut rest: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut start = Vec::new();
        rest.by_ref().take(PREFIX_BYTES as u64).read_to_end(&mut start)?;
        Ok(Self { start, rest })
    }

    /// Renames the function that a JSONP response calls. Returns false if it does not begin with a call
    /// of `from`.
    pub(super) fn rename_function(&mut self, from: &str, to: &str) -> bool {
        let is_before_call = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'*' | b';');
        let at = self.start.iter().take_while(|byte| is_before_call(byte)).count();
        let call = self.start[at..].strip_prefix(from.as_bytes());
        if !call.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"(")) {
            return false;
        }
        self.start.splice(at..at + from.len(), to.bytes());
        true
    }

    /// The whole body, from its first byte.
    pub(super) fn into_reader(self) -> impl Read + Send {
        io::Cursor::new(self.start).chain(self.rest)
    }
}

/// How one body is rewritten.
pub(super) struct BodyRewriting {
    pub(super) form: BodyForm,
    /// The URL of the capture.
    pub(super) url: String,
    /// The address that was requested. Links get the same time.
    pub(super) address: ReplayAddress,
    /// The encoding of the text.
    pub(super) encoding: &'static Encoding,
}

impl BodyRewriting {
    /// The `Content-Type` of the rewritten body, or none where the body is unchanged.
    pub(super) fn content_type(&self, original: Option<&str>) -> Option<String> {
        let kind = match self.form {
            BodyForm::Page if essence(original).is_empty() => "text/html".to_owned(),
            BodyForm::StyleSheet => "text/css".to_owned(),
            BodyForm::Page
            | BodyForm::Fragment
            | BodyForm::Svg
            | BodyForm::SvgImage
            | BodyForm::Playlist
            | BodyForm::Manifest => essence(original),
            BodyForm::Raw | BodyForm::Jsonp => return None,
        };
        let charset = match self.form {
            BodyForm::Page | BodyForm::Fragment | BodyForm::Svg | BodyForm::SvgImage
                if self.encoding.is_ascii_compatible() =>
            {
                self.encoding
            }
            _ => encoding_rs::UTF_8,
        };
        Some(format!("{kind}; charset={}", charset.name().to_ascii_lowercase()))
    }

    /// The rewritten body.
    pub(super) fn chunks(&self, body: BodyPrefix) -> BodyChunks {
        let input = body.into_reader();
        let digits = self.address.digits.clone();
        let to = move |url: &str| {
            ReplayAddress { url: url.to_owned(), modifier: Modifier::None, digits: digits.clone() }.path()
        };
        let Ok(links) = LinkRewriter::new(&self.url, to) else {
            return Box::new(ReadChunks::new(input, None));
        };
        match self.form {
            BodyForm::Page | BodyForm::Fragment | BodyForm::Svg | BodyForm::SvgImage => {
                let first = first_markup(self.form);
                let page = HtmlRewrite { links, encoding: self.encoding, first, shown_in: ShownIn::Replay };
                Box::new(RewrittenHtml::new(input, page).map(|chunk| chunk.map(Bytes::from)))
            }
            BodyForm::Raw | BodyForm::Jsonp => Box::new(ReadChunks::new(input, None)),
            BodyForm::StyleSheet | BodyForm::Manifest | BodyForm::Playlist => self
                .chunks_in_memory(input, &links)
                .unwrap_or_else(|error| Box::new(std::iter::once(Err(error)))),
        }
    }

    /// Formats that are rewritten in memory, unless they are too long.
    fn chunks_in_memory(
        &self,
        mut input: impl Read + Send + 'static,
        links: &LinkRewriter,
    ) -> io::Result<BodyChunks> {
        let mut body = Vec::new();
        input.by_ref().take(MAX_REWRITTEN_BYTES).read_to_end(&mut body)?;
        if body.len() as u64 == MAX_REWRITTEN_BYTES {
            let start = std::iter::once(Ok(Bytes::from(body)));
            return Ok(Box::new(start.chain(ReadChunks::new(input, None))));
        }
        let text = || self.encoding.decode_with_bom_removal(&body).0;
        let rewritten = match self.form {
            BodyForm::Manifest => manifest(&body, links).unwrap_or(body),
            BodyForm::Playlist => playlist(&text(), links).into_owned().into_bytes(),
            _ => css(&text(), links).into_owned().into_bytes(),
        };
        Ok(Box::new(std::iter::once(Ok(Bytes::from(rewritten)))))
    }
}

/// The element that loads the replay script, for documents that run scripts.
fn first_markup(form: BodyForm) -> Option<FirstMarkup> {
    const SVG: &str = "http://www.w3.org/2000/svg";
    let path = super::SCRIPT_PATH;
    match form {
        BodyForm::Page => Some(FirstMarkup::InHead(format!("<script src=\"{path}\"></script>"))),
        BodyForm::Svg => {
            Some(FirstMarkup::InRoot(format!("<script xmlns=\"{SVG}\" href=\"{path}\"></script>")))
        }
        _ => None,
    }
}

/// The encoding of a body.
pub(super) fn detect_encoding(start: &[u8], content_type: Option<&str>) -> &'static Encoding {
    charset::of_start(start, content_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_follows_type_and_destination() {
        let form = |kind, destination| BodyForm::of(kind, b"<html>", Modifier::None, destination);
        assert_eq!(form(Some("Text/HTML; charset=x"), None), BodyForm::Page);
        assert_eq!(form(None, None), BodyForm::Page);
        assert_eq!(form(Some("text/plain"), None), BodyForm::Raw);
        assert_eq!(form(Some("text/html"), Some("script")), BodyForm::Raw);
        assert_eq!(form(Some("text/html"), Some("empty")), BodyForm::Fragment);
        let json = BodyForm::of(Some("text/html"), b" {\"a\":\"<b>\"}", Modifier::None, Some("empty"));
        assert_eq!(json, BodyForm::Raw);
        assert_eq!(form(Some("image/svg+xml"), Some("image")), BodyForm::SvgImage);
        assert_eq!(form(Some("image/svg+xml"), Some("iframe")), BodyForm::Svg);
        assert_eq!(form(Some("text/html"), Some("style")), BodyForm::StyleSheet);
        assert_eq!(form(Some("application/json"), Some("manifest")), BodyForm::Manifest);
        assert_eq!(BodyForm::of(Some("text/html"), b"", Modifier::Raw, None), BodyForm::Raw);
    }

    #[test]
    fn documents_without_the_replay_script_run_no_scripts() {
        for (form, content_type, may_run) in [
            (BodyForm::Page, Some("text/html"), false),
            (BodyForm::Svg, Some("image/svg+xml"), false),
            (BodyForm::Raw, Some("text/html; charset=utf-8"), true),
            (BodyForm::Raw, Some("Application/XML"), true),
            (BodyForm::Raw, Some("application/atom+xml"), true),
            (BodyForm::Raw, None, true),
            (BodyForm::Fragment, Some("text/html"), true),
            (BodyForm::Raw, Some("application/pdf"), false),
            (BodyForm::Raw, Some("text/javascript"), false),
        ] {
            assert_eq!(form.may_run_scripts(content_type), may_run, "{form:?} {content_type:?}");
        }
    }
}
