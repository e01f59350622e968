//! Rewrites the links of a body, so that they lead into the archive.
//!
//! Owns which parts of a format are links and how they are written: pages as a stream, style
//! sheets, web manifests and playlists. The caller decides where links lead, through
//! [`LinkRewriter`]; nothing here knows archives or servers. Everything else is copied byte for
//! byte, as far as its encoding allows. Content that cannot be parsed is copied as well: the
//! Content-Security-Policy of a replayed page keeps it from the live web.

mod css;
mod html;
mod manifest;
mod playlist;
mod rules;

pub use css::css;
pub use html::{FirstMarkup, HtmlRewrite, RewrittenHtml, ShownIn, html};
pub use manifest::manifest;
pub use playlist::playlist;

use crate::links::emit::{is_foreign, is_web, trim};
use crate::links::{refresh, srcset};
use std::borrow::Cow;
use std::sync::Arc;
use varve_core::url::{Base, ResolveError};

/// Maximum length of a reference. Longer references are copied.
const MAX_REFERENCE_BYTES: usize = 64 << 10;

/// Rewrites the links of one body.
pub struct LinkRewriter {
    base: Base,
    to: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

impl LinkRewriter {
    /// Rewrites links of the body at `url`. `to` maps an absolute URL to its replacement.
    pub fn new(url: &str, to: impl Fn(&str) -> String + Send + Sync + 'static) -> Result<Self, ResolveError> {
        Ok(Self { base: Base::parse(url)?, to: Arc::new(to) })
    }

    /// The replacement of a reference. `None` if it stays.
    pub fn leads(&self, reference: &str) -> Option<String> {
        let reference = trim(reference);
        let stays =
            reference.is_empty() || reference.starts_with('#') || reference.len() > MAX_REFERENCE_BYTES;
        if stays || is_foreign(reference) {
            return None;
        }
        let target = self.base.resolve(reference).ok()?;
        is_web(&target).then(|| (self.to)(&target))
    }

    /// The rewritten value of a `Refresh` header or `<meta>`. `None` if it has no address.
    pub fn refresh(&self, content: &str) -> Option<String> {
        let target = refresh::target(content)?;
        let at = target.as_ptr() as usize - content.as_ptr() as usize;
        let seconds: String =
            content[..at].trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        Some(format!("{seconds}; url={}", self.leads(target)?))
    }

    /// Candidates with descriptors, each with its own link.
    fn set<'s>(&self, set: &'s str) -> Cow<'s, str> {
        let mut pieces = ReplacedText::new(set);
        for (at, url) in srcset::candidates(set) {
            if let Some(link) = self.leads(url) {
                pieces.replace(at..at + url.len(), &link);
            }
        }
        pieces.finish()
    }

    /// Sets the base of the references that follow.
    fn set_base(&mut self, reference: &str) {
        let resolved = self.base.resolve(trim(reference)).ok().filter(|url| is_web(url));
        if let Some(base) = resolved.and_then(|url| Base::parse(&url).ok()) {
            self.base = base;
        }
    }
}

/// Replaces pieces of a text, in order.
struct ReplacedText<'t> {
    text: &'t str,
    done: String,
    /// Number of bytes of the text that are done.
    taken: usize,
}

impl<'t> ReplacedText<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, done: String::new(), taken: 0 }
    }

    fn replace(&mut self, range: std::ops::Range<usize>, piece: &str) {
        self.done.push_str(&self.text[self.taken..range.start]);
        self.done.push_str(piece);
        self.taken = range.end;
    }

    fn finish(mut self) -> Cow<'t, str> {
        if self.taken == 0 {
            return Cow::Borrowed(self.text);
        }
        self.done.push_str(&self.text[self.taken..]);
        Cow::Owned(self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(url: &str) -> String {
        format!("/W/{url}")
    }

    #[test]
    fn references_lead_where_they_should_or_stay() {
        let links = LinkRewriter::new("http://h/d/p?q", to).unwrap();
        for (reference, leads) in [
            ("a", Some("/W/http://h/d/a")),
            (" /a\n", Some("/W/http://h/a")),
            ("//g/a", Some("/W/http://g/a")),
            ("?x", Some("/W/http://h/d/p?x")),
            ("https://g", Some("/W/https://g/")),
            ("HTTPS://g/a b#c", Some("/W/https://g/a%20b#c")),
            ("#c", None),
            ("", None),
            ("data:text/html,x", None),
            ("JavaScript:x", None),
            ("mailto:x@y", None),
            ("ftp://h/", None),
            ("http://[", None),
        ] {
            assert_eq!(links.leads(reference).as_deref(), leads, "{reference}");
        }
    }

    #[test]
    fn sets_and_refreshes() {
        let links = LinkRewriter::new("http://h/d/", to).unwrap();
        assert_eq!(links.set("a 1x, /b 2x"), "/W/http://h/d/a 1x, /W/http://h/b 2x");
        assert_eq!(
            links.set("data:image/png;base64,AA 1x, b"),
            "data:image/png;base64,AA 1x, /W/http://h/d/b"
        );
        assert_eq!(links.set(" , "), " , ");
        assert_eq!(links.refresh("5; URL='/x'").as_deref(), Some("5; url=/W/http://h/x"));
        assert_eq!(links.refresh(" 0 é").as_deref(), Some("0; url=/W/http://h/d/%C3%A9"));
        assert_eq!(links.refresh("5"), None);
    }
}
