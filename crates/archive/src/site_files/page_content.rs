//! What is in the file of a page: its body, or its body with relative links.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use varve_core::history::Capture;
use varve_page::charset;
use varve_page::rewrite::{FirstMarkup, HtmlRewrite, LinkRewriter, ShownIn, css, html};
use varve_repository::media_type::of_name;

use super::LinkTargets;
use super::file_plan::media_type;

/// How much of a body is read to detect its encoding.
const PREFIX_BYTES: u64 = 16 << 10;
/// The byte order mark of UTF-8.
const UTF8_MARK: &[u8] = "\u{feff}".as_bytes();
/// Longer style sheets are not rewritten.
const MAX_STYLE_SHEET_BYTES: u64 = 16 << 20;

/// The content of files.
#[derive(Clone)]
pub(crate) struct PageContent {
    /// Where links lead; `None` if bodies stay as they are.
    targets: Option<Arc<LinkTargets>>,
}

impl PageContent {
    /// Bodies as they are, or with links to these targets.
    pub(crate) fn new(targets: Option<LinkTargets>) -> Self {
        Self { targets: targets.map(Arc::new) }
    }

    /// Whether the file of a page is its body, byte for byte.
    pub(crate) fn is_body(&self, capture: &Capture, file: &Path) -> bool {
        self.targets.is_none() || ContentForm::of(capture, file) == ContentForm::Raw
    }

    /// Writes the file of a page.
    pub(crate) fn write(
        &self,
        capture: &Capture,
        file: &Path,
        mut body: impl Read,
        output: &mut dyn Write,
    ) -> io::Result<()> {
        let form = ContentForm::of(capture, file);
        let links = self.targets.as_ref().filter(|_| form != ContentForm::Raw).and_then(|targets| {
            let (targets, from) = (Arc::clone(targets), file.to_owned());
            LinkRewriter::new(&capture.url, move |url| targets.link(&from, url)).ok()
        });
        let Some(links) = links else { return io::copy(&mut body, output).map(drop) };
        let mut start = Vec::new();
        body.by_ref().take(PREFIX_BYTES).read_to_end(&mut start)?;
        let content_type = capture.headers.get("content-type").and_then(<[String]>::first);
        let encoding = charset::of_start(&start, content_type.map(String::as_str));
        let is_declared = encoding == charset::of_start(&start, None) && encoding.is_ascii_compatible();
        let input = io::Cursor::new(start).chain(body);
        if form == ContentForm::StyleSheet {
            return style_sheet(input, encoding, &links, output);
        }
        // A file has no header that names its encoding.
        let written = if encoding.is_ascii_compatible() { encoding } else { encoding_rs::UTF_8 };
        let first = (form == ContentForm::Page && !is_declared).then(|| {
            FirstMarkup::InHead(format!("<meta charset=\"{}\">", written.name().to_ascii_lowercase()))
        });
        html(input, HtmlRewrite { links, encoding, first, shown_in: ShownIn::File }, output).map(drop)
    }
}

/// Rewrites a style sheet, unless it is too long. It is written as UTF-8, also if it declares another encoding: a byte
/// order mark says that before any `@charset`, and before the encoding of the page.
fn style_sheet(
    mut input: impl Read,
    encoding: &'static encoding_rs::Encoding,
    links: &LinkRewriter,
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut body = Vec::new();
    input.by_ref().take(MAX_STYLE_SHEET_BYTES).read_to_end(&mut body)?;
    if body.len() as u64 == MAX_STYLE_SHEET_BYTES {
        output.write_all(&body)?;
        return io::copy(&mut input, output).map(drop);
    }
    let text = encoding.decode_with_bom_removal(&body).0;
    if !text.is_ascii() {
        output.write_all(UTF8_MARK)?;
    }
    output.write_all(css(&text, links).as_bytes())
}

/// Which links a body has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContentForm {
    Page,
    Svg,
    StyleSheet,
    Raw,
}

impl ContentForm {
    fn of(capture: &Capture, file: &Path) -> Self {
        let said = media_type(capture);
        match if said.is_empty() { of_name(file) } else { &said } {
            "text/html" | "application/xhtml+xml" => Self::Page,
            "image/svg+xml" => Self::Svg,
            "text/css" => Self::StyleSheet,
            _ => Self::Raw,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_sheet_is_written_as_utf8_and_says_so() {
        let links = LinkRewriter::new("https://h/s.css", str::to_owned).expect("a URL");
        let written = |body: &[u8]| {
            let mut output = Vec::new();
            style_sheet(body, encoding_rs::WINDOWS_1252, &links, &mut output).expect("written");
            String::from_utf8(output).expect("UTF-8")
        };
        let declared = written(b"@charset \"iso-8859-1\"; p::before { content: '\xe9' }");
        assert!(declared.starts_with("\u{feff}@charset") && declared.contains('é'), "{declared}");
        assert_eq!(written(b"p { color: red }"), "p { color: red }");
    }
}
