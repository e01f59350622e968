//! Cookie files in the Netscape format, as browsers' extensions, curl and wget write them.
//!
//! A line has seven fields between tabs: host, whether it includes subdomains, path, whether it is
//! secure, the time it expires, name and value. A line that begins with `#` is a comment, except
//! that `#HttpOnly_` before the host marks a cookie that scripts cannot read.

use super::ScopedCookie;

/// What is wrong with a line whose fields are valid.
pub(super) const UNUSABLE_COOKIE: &str = "its host is not one that cookies can be set for";

/// A line of a cookie file is not valid. The error has its number, never its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct CookieFileError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// The cookies of a file, each with the number of its line.
pub(super) fn cookies(text: &str) -> impl Iterator<Item = (usize, Result<ScopedCookie, &'static str>)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().enumerate().filter_map(|(index, line)| {
        let (line, http_only) = match line.strip_prefix("#HttpOnly_") {
            Some(line) => (line, true),
            None => (line, false),
        };
        let is_comment = line.trim().is_empty() || (line.starts_with('#') && !http_only);
        (!is_comment).then(|| (index + 1, cookie(line, http_only)))
    })
}

fn cookie(line: &str, http_only: bool) -> Result<ScopedCookie, &'static str> {
    let fields: Vec<&str> = line.split('\t').collect();
    // Editors remove the tab before an empty value.
    let (host, subdomains, path, secure, expires, name, value) = match fields[..] {
        [host, subdomains, path, secure, expires, name, value] => {
            (host, subdomains, path, secure, expires, name, value)
        }
        [host, subdomains, path, secure, expires, name] => {
            (host, subdomains, path, secure, expires, name, "")
        }
        _ => return Err("it does not have seven fields between tabs"),
    };
    let flag = |text: &str| match text.to_ascii_uppercase().as_str() {
        "TRUE" => Some(true),
        "FALSE" => Some(false),
        _ => None,
    };
    let is_odd = |text: &str| text.contains(|letter: char| letter.is_control() || letter == ';');
    if host.is_empty() || host.contains(['/', '@', ' ']) || is_odd(host) {
        return Err("its first field is not a host");
    }
    if !path.starts_with('/') || is_odd(path) {
        return Err("its third field is not a path that begins with `/`");
    }
    if name.is_empty() || is_odd(name) || is_odd(value) {
        return Err("its name or value cannot be sent");
    }
    let expires = match expires.parse::<f64>() {
        Ok(time) if time.is_finite() => Some(time as i64).filter(|time| *time > 0),
        _ => return Err("its fifth field is not a time in seconds"),
    };
    Ok(ScopedCookie {
        name: name.to_owned(),
        value: value.to_owned(),
        host: host.trim_start_matches('.').trim_matches(['[', ']']).to_ascii_lowercase(),
        with_subdomains: flag(subdomains).ok_or("its second field is neither TRUE nor FALSE")?,
        path: path.to_owned(),
        secure: flag(secure).ok_or("its fourth field is neither TRUE nor FALSE")?,
        http_only,
        expires,
    })
}
