//! The place of a page in a working tree: from its URL to a path, and from the path to valid file
//! names.
//!
//! History stores the path, and pages of two versions are paired by it. It is untrusted text: it
//! may contain `..` or NUL, or exceed the length of file names. The file names are derived so that
//! no two paths share one, none leads out of the tree, and an ordinary path keeps its own name.

use std::borrow::Cow;
use std::path::PathBuf;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use varve_core::url::{Reference, page_identity, tree_path};

/// Names with a special meaning in a working tree.
const RESERVED_NAMES: [&str; 4] = [".moku", ".page_body", ".page_headers.json", ".varve-checkout"];
/// The encoded form of a dot.
const ENCODED_DOT: &str = "%2E";
/// The encoded forms of a percent sign and of NUL.
const ENCODED_PERCENT: &str = "%25";
const ENCODED_NUL: &str = "%00";
/// The name for an empty segment, as in `/a//b`. No other segment gets it, because percent signs
/// are encoded.
const NO_NAME: &str = "%";
/// Maximum length of a file name in bytes, which every file system supports.
const MAX_NAME_BYTES: usize = 200;

/// The path of a page: the path of its URL, followed by the query if there is one, because pages
/// with different queries are different pages. All spellings of a URL have the same path,
/// regardless of the spelling found first.
pub fn page_path(url: &str) -> String {
    page_identity(url).map_or_else(|| path_as_spelled(url), |address| path_as_spelled(&address))
}

/// The path as stored in the rows of a Moku site. Moku uses it as a folder name, so `..` would lead
/// out of the site, a reserved name to Moku's own files, and NUL would fail. Such segments are
/// encoded; in segments that already look encoded, the percent sign is. No two paths become the
/// same.
pub fn in_site(path: &str) -> Cow<'_, str> {
    if !path.split('/').any(|segment| is_special(segment) || looks_spelled(segment) || segment.contains('\0'))
    {
        return path.into();
    }
    path.split('/').map(segment_in_site).collect::<Vec<_>>().join("/").into()
}

fn segment_in_site(segment: &str) -> String {
    let spelled = |text: &str| text.replace('%', ENCODED_PERCENT).replace('\0', ENCODED_NUL);
    if is_special(segment) {
        return format!("{ENCODED_DOT}{}", spelled(&segment[1..]));
    }
    if looks_spelled(segment) || segment.contains('\0') { spelled(segment) } else { segment.to_owned() }
}

/// Whether a segment looks encoded.
fn looks_spelled(segment: &str) -> bool {
    [ENCODED_DOT, ENCODED_PERCENT, ENCODED_NUL].iter().any(|spelled| segment.contains(spelled))
}

/// Whether a segment leads elsewhere or is a reserved name of a working tree. All of them begin
/// with a dot.
fn is_special(segment: &str) -> bool {
    matches!(segment, "." | "..")
        || segment.starts_with(".tmp-")
        || RESERVED_NAMES.iter().any(|reserved| segment.eq_ignore_ascii_case(reserved))
}

/// The key by which a page is found in another version, independent of how each version wrote its
/// path: with the query that Moku omits and the leading slash that a later Moku omits. A path that
/// a user chose stays.
pub fn path_to_pair(url: &str, path: &str) -> String {
    if looks_spelled(path) {
        let own = page_path(url);
        if in_site(&own) == path {
            return own;
        }
    }
    let path = with_slash(path);
    if !url.contains('?') {
        return path.into_owned();
    }
    let lacks_query = !path.contains('?') && *tree_path(url).unwrap_or_default() == *path.as_bytes();
    if lacks_query { page_path(url) } else { path.into_owned() }
}

/// The path with its leading slash. The path of a site's first page is empty or only its query.
pub fn with_slash(path: &str) -> Cow<'_, str> {
    match path.is_empty() || path.starts_with(['/', '?']) {
        true => path.into(),
        false => format!("/{path}").into(),
    }
}

fn path_as_spelled(url: &str) -> String {
    let path = tree_path(url).unwrap_or_default();
    let mut path = String::from_utf8_lossy(&path).into_owned();
    let query = Reference::parse(url).ok().and_then(|reference| reference.raw_query().map(str::to_owned));
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        path.push('?');
        path.push_str(&query);
    }
    path
}

/// Maximum length of a path in bytes below the tree, which every system supports with room for the
/// location of the tree.
const MAX_PATH_BYTES: usize = 2000;

/// The folder of a page below the root of a working tree.
pub fn folder_of(path: &str) -> PathBuf {
    let mut folder = PathBuf::new();
    // Paths begin with a slash, except those that a later Moku writes.
    let path_below = path.strip_prefix('/').unwrap_or(path).trim_end_matches('/');
    for segment in path_below.split('/').filter(|_| !path_below.is_empty()) {
        let name = name_of(segment);
        if folder.as_os_str().len() + name.len() > MAX_PATH_BYTES {
            // The rest of an overlong path becomes one name. No name of a segment begins with `%~`.
            folder.push(format!("%~{}", HEXLOWER.encode(&Sha256::digest(path))));
            return folder;
        }
        folder.push(name);
    }
    folder
}

/// The file name for one segment of a path.
fn name_of(segment: &str) -> String {
    if segment.is_empty() {
        return NO_NAME.to_owned();
    }
    let mut name = String::with_capacity(segment.len());
    if is_special(segment) {
        name.push_str(ENCODED_DOT);
        name.push_str(&segment[1..]);
    } else {
        for letter in segment.chars() {
            match letter {
                '%' | '\\' | '\0'..='\x1f' | '\x7f' => name.push_str(&format!("%{:02X}", letter as u32)),
                _ => name.push(letter),
            }
        }
    }
    if name.len() > MAX_NAME_BYTES { shortened(&name, segment) } else { name }
}

/// The start of a long name, followed by enough of its digest to make it unique.
fn shortened(name: &str, segment: &str) -> String {
    let end = (0..=MAX_NAME_BYTES - 40).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    format!("{}%~{}", &name[..end], &HEXLOWER.encode(&Sha256::digest(segment))[..32])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    #[test]
    fn an_ordinary_page_lies_under_its_own_name() {
        assert_eq!(page_path("https://example.com/a/b.html#top"), "/a/b.html");
        assert_eq!(folder_of("/a/b.html"), PathBuf::from("a/b.html"));
        assert_eq!(page_path("https://example.com/"), "");
        assert_eq!(folder_of(""), PathBuf::new());
    }

    #[test]
    fn in_a_site_no_path_climbs_or_is_something_else() {
        for (url, path) in [
            ("https://e.org/a/..%2f..%2fy", "/a/%2E./%2E./y"),
            ("https://e.org/.moku/HEAD", "/%2Emoku/HEAD"),
            ("https://e.org/.MOKU/HEAD", "/%2EMOKU/HEAD"),
            ("https://e.org/s?y=/../q&x=1", "/s?x=1&y=/%2E./q"),
            ("https://e.org/a/.page_body", "/a/%2Epage_body"),
            ("https://e.org/v1..v2/.well-known", "/v1..v2/.well-known"),
            ("https://e.org/a/%00nul%25", "/a/%00nul%25"),
            ("https://e.org/%2500nul", "/%2500nul"),
            ("https://e.org/%252Emoku/HEAD", "/%252Emoku/HEAD"),
            ("https://e.org/%25252Emoku/HEAD", "/%25252Emoku/HEAD"),
            ("https://e.org/100%25/a%2520b", "/100%/a%20b"),
        ] {
            let own = page_path(url);
            assert_eq!(in_site(&own), path, "{url}");
            // It is the same page in both forms of its path.
            assert_eq!((path_to_pair(url, path), path_to_pair(url, &own)), (own.clone(), own), "{url}");
        }
        // A path that is not that of its URL stays.
        assert_eq!(path_to_pair("https://e.org/%252Emoku/HEAD", "/%2Emoku/HEAD"), "/%2Emoku/HEAD");
    }

    #[test]
    fn a_query_is_part_of_the_page() {
        assert_eq!(page_path("https://example.com/s?q=1"), "/s?q=1");
    }

    #[test]
    fn all_spellings_of_a_page_have_one_path() {
        for url in ["http://h/s?y=2&x=1", "http://h/s?utm_source=z&x=1&y=2", "http://h:80/a/../s?x=1&y=2#z"] {
            assert_eq!(page_path(url), "/s?x=1&y=2", "{url}");
        }
        assert_eq!(page_path("http://h/s?utm_source=z"), "/s");
        assert_eq!(page_path("file:///s?y=2&x=1"), "/s?y=2&x=1");
    }

    #[test]
    fn a_page_is_found_again_however_its_path_was_written() {
        for url in ["http://h/s?x=1&y=2", "http://h/s?y=2&x=1"] {
            for path in ["/s?x=1&y=2", "/s", "s"] {
                assert_eq!(path_to_pair(url, path), "/s?x=1&y=2", "{path} of {url}");
            }
        }
        assert_eq!(path_to_pair("http://h/?q=1", ""), "?q=1");
        assert_eq!(path_to_pair("http://h/new", "new"), path_to_pair("http://h/new", "/new"));
        assert_eq!(path_to_pair("http://h/s?x=1", "chosen"), "/chosen");
        assert_eq!(path_to_pair("http://h/s?y=2&x=1", "/elsewhere?y"), "/elsewhere?y");
    }

    #[test]
    fn what_means_something_else_is_spelled_out() {
        assert_eq!(folder_of("/../.moku/HEAD"), PathBuf::from("%2E./%2Emoku/HEAD"));
        assert_eq!(folder_of("/a/%2E./x"), PathBuf::from("a/%252E./x"));
        assert_eq!(folder_of("/v1..v2"), PathBuf::from("v1..v2"));
        assert_eq!(folder_of("/a//b"), PathBuf::from("a/%/b"));
        assert_eq!(folder_of("//a"), PathBuf::from("%/a"));
        assert_eq!(folder_of("/%"), PathBuf::from("%25"));
    }

    #[test]
    fn a_path_without_end_has_a_place() {
        let long = |last: &str| format!("{}/{last}", "/a-folder-with-a-name".repeat(400));
        let (one, other) = (folder_of(&long("one")), folder_of(&long("other")));
        assert!(one.as_os_str().len() < 2200 && one.starts_with("a-folder-with-a-name/a-folder-with-a-name"));
        assert_ne!(one, other);
        assert_eq!(one.parent(), other.parent());
    }

    proptest! {
        #[test]
        fn no_path_leads_out_of_the_tree(path in "(/[./\\\\%a-c\0~]{0,6}|/\\.\\.|.{0,20}){0,6}") {
            for component in folder_of(&path).components() {
                let Component::Normal(name) = component else { panic!("{component:?}") };
                prop_assert!(name.len() <= 255);
            }
        }

        #[test]
        fn no_two_segments_share_a_name(one in "[.%a-c~\0]{1,5}|.{180,260}", other in "[.%a-c~\0]{1,5}|.{180,260}") {
            prop_assume!(one != other && !one.contains('/') && !other.contains('/'));
            prop_assert_ne!(folder_of(&one), folder_of(&other));
        }

        #[test]
        fn no_two_paths_become_one_in_a_site(
            one in "(/|\\.|\\.\\.|\\.moku|\\.tmp-|%|2E|25|00|\0|a){0,6}",
            other in "(/|\\.|\\.\\.|\\.moku|\\.tmp-|%|2E|25|00|\0|a){0,6}",
        ) {
            prop_assume!(one != other);
            prop_assert_ne!(in_site(&one), in_site(&other));
            prop_assert!(!in_site(&one).split('/').any(|segment| is_special(segment) || segment.contains('\0')));
        }
    }
}
