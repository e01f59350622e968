//! Where a page lies in a working tree: the path of its URL, as Moku lays pages out.
//!
//! Pure text: the path comes from a stranger and may climb (`/../x`) or hold any byte. Refusing
//! such a path is the duty of the code that writes the file.

use super::{Reference, UrlError};
use std::borrow::Cow;

/// The path of a page relative to the root of its working tree: the path of the URL with escapes
/// resolved and without the slashes at its end. The query counts for nothing, so several pages may
/// share a path.
///
/// ```
/// # use varve_core::url::tree_path;
/// assert_eq!(tree_path("https://example.com/a%20b/?q=1").as_deref(), Ok(&b"/a b"[..]));
/// ```
pub fn tree_path(url: &str) -> Result<Cow<'_, [u8]>, UrlError> {
    Ok(match Reference::parse(url)?.path() {
        Cow::Borrowed(path) => Cow::Borrowed(&path[..path.len() - slashes_at_end(path)]),
        Cow::Owned(mut path) => {
            path.truncate(path.len() - slashes_at_end(&path));
            Cow::Owned(path)
        }
    })
}

fn slashes_at_end(path: &[u8]) -> usize {
    path.iter().rev().take_while(|&&byte| byte == b'/').count()
}
