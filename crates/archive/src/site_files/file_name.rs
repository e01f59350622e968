//! The file name of a page in a folder that people open with a browser.
//!
//! Pure text: from a URL and a media type to a path. A page that was committed from a file gets the
//! path of that file. Names that would climb, be empty, or be too long for a file system are spelled
//! otherwise. Two pages may get one name; [`super::FilePlan`] decides between them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use varve_repository::media_type::{OCTET_STREAM, ending_of, of_name};

/// The file in a folder of pages that names its version.
pub(crate) const MARK_FILE: &str = ".varve-checkout";
/// Maximum length of a file name in bytes, on every common file system.
const MAX_NAME_BYTES: usize = 255;
/// Maximum length of a path below the folder, with room for the path of the folder.
const MAX_PATH_BYTES: usize = 3000;
/// Maximum number of characters of a query in a name.
const MAX_QUERY_CHARS: usize = 80;
/// Maximum length of an extension in characters. A longer one is part of the name.
const MAX_ENDING_CHARS: usize = 5;
/// The name for an empty segment, as in `/a//b`.
const EMPTY_SEGMENT: &[u8] = b"%";
/// The folder for pages whose paths are too long.
const LONG_PATHS: &str = "~long";

/// A name for a page, before other pages are considered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileName {
    /// The folder of its host.
    pub(crate) host: OsString,
    /// The path below that folder.
    pub(crate) path: PathBuf,
    /// Whether the path is that of the URL, and nothing was added or replaced.
    pub(crate) is_own: bool,
}

impl FileName {
    /// The name of the page at `url`. `index` is the name of the page of a folder, and `below` the
    /// URL of the folder that is the root; `None` for a page that is not in it.
    pub(crate) fn of(url: &str, media_type: &str, index: &str, below: Option<&str>) -> Option<Self> {
        let (host, path) = split_host(url);
        let path = match below {
            Some(below) => url.strip_prefix(below)?,
            None => path,
        };
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = path.split_once('?').map_or((path, ""), |(path, query)| (path, query));
        let mut is_own = query.is_empty();
        let path = path.strip_prefix('/').unwrap_or(path);
        let (folders, name) =
            path.rsplit_once('/').map_or((None, path), |(folders, name)| (Some(folders), name));
        let mut segments: Vec<Vec<u8>> = folders
            .into_iter()
            .flat_map(|folders| folders.split('/'))
            .map(|segment| decoded_segment(segment, &mut is_own))
            .collect();
        let mut name = match name {
            "" => index.as_bytes().to_vec(),
            name => decoded_segment(name, &mut is_own),
        };
        if segments.is_empty() && name.eq_ignore_ascii_case(MARK_FILE.as_bytes()) {
            (name, is_own) = (spelled_dots(&name), false);
        }
        let name = with_query_and_ending(&name, query, media_type, &mut is_own);
        segments.push(name);
        let path = joined(segments, url, &mut is_own);
        Some(Self { host: host_folder(host), path, is_own })
    }
}

/// The host with its port, and the rest. A URL without a host has the folder of its scheme.
fn split_host(url: &str) -> (&str, &str) {
    match url.split_once("://") {
        Some((_, rest)) => rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len())),
        None => url.split_once(':').unwrap_or(("", url)),
    }
}

fn host_folder(host: &str) -> OsString {
    let host = host.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let safe = |letter: char| match letter {
        ':' => '+',
        letter if letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_' | '[' | ']') => letter,
        _ => '_',
    };
    let host: String = host.chars().map(safe).collect();
    match host.as_str() {
        "" | "." | ".." => "_".into(),
        MARK_FILE => OsString::from_vec(spelled_dots(MARK_FILE.as_bytes())),
        _ => shortened(host.into_bytes()).map_or_else(OsString::from_vec, OsString::from_vec),
    }
}

/// A segment with its escapes resolved, as far as it can be a file name.
fn decoded_segment(segment: &str, is_own: &mut bool) -> Vec<u8> {
    let name: Vec<u8> = percent_encoding::percent_decode_str(segment).collect();
    if name.is_empty() {
        *is_own = false;
        return EMPTY_SEGMENT.to_vec();
    }
    if name == b"." || name == b".." {
        *is_own = false;
        return spelled_dots(&name);
    }
    if !name.iter().any(|byte| matches!(byte, b'/' | 0)) {
        return name;
    }
    *is_own = false;
    let mut safe = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'/' => safe.extend(b"%2F"),
            0 => safe.extend(b"%00"),
            _ => safe.push(byte),
        }
    }
    safe
}

/// A name whose leading dots are spelled otherwise.
fn spelled_dots(name: &[u8]) -> Vec<u8> {
    let dots = name.iter().take_while(|byte| **byte == b'.').count();
    [&b"%2E".repeat(dots)[..], &name[dots..]].concat()
}

/// The name with its query before the extension, and with the extension of its media type if it
/// needs one.
fn with_query_and_ending(name: &[u8], query: &str, media_type: &str, is_own: &mut bool) -> Vec<u8> {
    let path = Path::new(OsStr::from_bytes(name));
    let added = added_ending(path, media_type);
    *is_own &= added.is_none();
    let (stem, ending) = match (added, ending(path)) {
        (None, Some(ending)) if !query.is_empty() => {
            (&name[..name.len() - ending.len() - 1], Some(ending.as_bytes().to_vec()))
        }
        (added, _) => (name, added.map(|ending| ending.as_bytes().to_vec())),
    };
    let mut named = stem.to_vec();
    if !query.is_empty() {
        named.push(b'@');
        named.extend(safe_query(query).into_bytes());
    }
    if let Some(ending) = ending {
        named.push(b'.');
        named.extend(ending);
    }
    named
}

/// A query as part of a file name. Replaced characters are made up for by a digest.
fn safe_query(query: &str) -> String {
    let text = percent_encoding::percent_decode_str(query).decode_utf8_lossy().into_owned();
    let is_safe = |letter: &char| letter.is_alphanumeric() || "-_.=&+,~!()[]".contains(*letter);
    let safe: String =
        text.chars().take(MAX_QUERY_CHARS).map(|c| if is_safe(&c) { c } else { '_' }).collect();
    if safe == query { safe } else { format!("{safe}~{}", digest(query, 8)) }
}

/// The extension that a name lacks. A browser shows a page or uses a style sheet only with the right
/// one; other files get one if they have none.
fn added_ending(name: &Path, media_type: &str) -> Option<&'static str> {
    let wanted = ending_of(media_type)?;
    let (has, named) = (of_name(name), ending(name));
    if named.is_some_and(|named| named.eq_ignore_ascii_case(wanted))
        || has == of_name(Path::new(&format!("x.{wanted}"))) && has != OCTET_STREAM
        || wanted == "xhtml" && has == "text/html"
    {
        return None;
    }
    let is_needed = matches!(wanted, "html" | "xhtml" | "css");
    (is_needed || named.is_none()).then_some(wanted)
}

/// The extension of a name, if it looks like one: `v1.2` has none.
fn ending(name: &Path) -> Option<&str> {
    let ending = name.extension()?.to_str()?;
    let is_ending = (1..=MAX_ENDING_CHARS).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_ending.then_some(ending)
}

fn joined(segments: Vec<Vec<u8>>, url: &str, is_own: &mut bool) -> PathBuf {
    let length: usize = segments.iter().map(|segment| segment.len() + 1).sum();
    let mut path = PathBuf::new();
    if length > MAX_PATH_BYTES {
        *is_own = false;
        let name = segments.last().cloned().unwrap_or_default();
        let ending = ending(Path::new(OsStr::from_bytes(&name))).map(|ending| format!(".{ending}"));
        path.push(LONG_PATHS);
        path.push(digest(url, 64) + &ending.unwrap_or_default());
        return path;
    }
    for segment in segments {
        let name = shortened(segment).unwrap_or_else(|short| {
            *is_own = false;
            short
        });
        path.push(OsString::from_vec(name));
    }
    path
}

/// The name itself, or as an error a shorter one with a digest, if it is too long.
fn shortened(name: Vec<u8>) -> Result<Vec<u8>, Vec<u8>> {
    if name.len() <= MAX_NAME_BYTES {
        return Ok(name);
    }
    let ending = ending(Path::new(OsStr::from_bytes(&name))).map(|ending| format!(".{ending}"));
    let tail = format!("~{}{}", digest(&name, 16), ending.unwrap_or_default());
    let text = String::from_utf8_lossy(&name);
    let end = (0..=MAX_NAME_BYTES - tail.len()).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Err(format!("{}{tail}", &text[..end]).into_bytes())
}

/// The path with a digest of the URL before its extension, for a page whose name is taken.
pub(crate) fn with_digest(path: &Path, url: &str, digits: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let ending = ending(Path::new(OsStr::from_bytes(name))).map(|ending| format!(".{ending}"));
    let ending = ending.unwrap_or_default();
    let tail = format!("~{}{ending}", digest(url, digits));
    let stem = &name[..(name.len() - ending.len()).min(MAX_NAME_BYTES - tail.len())];
    path.with_file_name(OsString::from_vec([stem, tail.as_bytes()].concat()))
}

fn digest(text: impl AsRef<[u8]>, digits: usize) -> String {
    let mut hex = HEXLOWER.encode(&Sha256::digest(text));
    hex.truncate(digits);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    fn name(url: &str, media_type: &str) -> (String, bool) {
        let name = FileName::of(url, media_type, "index.html", None).expect("a name");
        (name.path.to_string_lossy().into_owned(), name.is_own)
    }

    #[test]
    fn a_browser_can_open_it() {
        for (url, media_type, path, is_own) in [
            ("https://h/", "text/html", "index.html", true),
            ("https://h", "text/html", "index.html", true),
            ("https://h/a/", "text/html", "a/index.html", true),
            ("https://h/a/b.html#top", "text/html", "a/b.html", true),
            ("https://h/a/b.htm", "text/html", "a/b.htm", true),
            ("https://h/about", "text/html", "about.html", false),
            ("https://h/v1.2", "text/html", "v1.2.html", false),
            ("https://h/show.php", "text/html", "show.php.html", false),
            ("https://h/show.php?id=3&x=a/b", "text/html", "show.php@id=3&x=a_b~007df200.html", false),
            ("https://h/s.css?v=2", "text/css", "s@v=2.css", false),
            ("https://h/?q=1", "text/html", "index@q=1.html", false),
            ("https://h/style", "text/css", "style.css", false),
            ("https://h/LICENSE", "text/plain", "LICENSE.txt", false),
            ("https://h/LICENSE", "", "LICENSE", true),
            ("https://h/data.json", "text/plain", "data.json", true),
            ("https://h/x.xhtml", "application/xhtml+xml", "x.xhtml", true),
            ("https://h/a%20b%25%3F%23.txt", "text/plain", "a b%?#.txt", true),
            ("https://h/a%2F..%2Fb.txt", "text/plain", "a%2F..%2Fb.txt", false),
            ("https://h/a/%2e%2e/b.txt", "text/plain", "a/%2E%2E/b.txt", false),
            ("https://h/a//b.txt", "text/plain", "a/%/b.txt", false),
            ("https://h/.varve-checkout", "", "%2Evarve-checkout", false),
            ("https://h/a/.varve-checkout", "", "a/.varve-checkout", true),
        ] {
            assert_eq!(name(url, media_type), (path.to_owned(), is_own), "{url} {media_type}");
        }
    }

    #[test]
    fn a_root_below_a_host_and_hosts_with_ports() {
        let of = |url, below| FileName::of(url, "text/html", "default.htm", below);
        let found = of("https://h:8080/a/b/c.html", Some("https://h:8080/a/")).expect("a name");
        assert_eq!((found.host, found.path), ("h+8080".into(), "b/c.html".into()));
        assert_eq!(of("https://h/a/", None).expect("a name").path, Path::new("a/default.htm"));
        assert_eq!(of("https://g/a/b", Some("https://h/a/")), None);
        assert_eq!(of("dns:example.com", None).expect("a name").host, "dns");
        // A host cannot take the place of the mark.
        assert_eq!(of("https://.Varve-checkout/", None).expect("a name").host, "%2Evarve-checkout");
    }

    #[test]
    fn long_names_end_as_before() {
        let long = |last: &str| format!("https://h/{}{last}.html", "x".repeat(300));
        let (one, other) = (name(&long("1"), "text/html").0, name(&long("2"), "text/html").0);
        assert!(one != other && one.len() <= 255 && one.ends_with(".html"), "{one}");
        let deep = name(&format!("https://h/{}b.css", "folder/".repeat(600)), "text/css").0;
        assert!(deep.starts_with("~long/") && deep.ends_with(".css"), "{deep}");
    }

    proptest! {
        #[test]
        fn no_name_leads_out_of_the_folder(url in "https://h(/([./\\\\%a-c~]|%2e|%2F|%00){0,6}){0,5}(\\?.{0,100})?") {
            let name = FileName::of(&url, "text/html", "index.html", None).expect("a name");
            prop_assert!(name.path.components().count() > 0);
            for component in name.path.components() {
                let Component::Normal(part) = component else { panic!("{component:?}") };
                prop_assert!(part.len() <= 255 && !part.as_bytes().contains(&0));
            }
        }
    }
}
