//! One `Cookie` header from several sources.

use varve_core::secret::Secret;

use super::CookieJar;
use crate::credentials::Credentials;

/// The `Cookie` header of a request to a URL: the cookies that the user gave for its host, then
/// those of the jar.
pub fn sent_cookies(credentials: &Credentials, jar: &CookieJar, url: &str) -> Option<Secret<String>> {
    let given = credentials.cookie_for(url).map(Secret::into_exposed);
    let given: Vec<String> = given.into_iter().collect();
    let merged = merge_cookies(&given, jar.pairs_for(url));
    (!merged.is_empty()).then(|| Secret::new(merged))
}

/// Joins headers that are given as they are with the pairs whose names are not among them.
pub(crate) fn merge_cookies(given: &[String], pairs: Vec<(String, String)>) -> String {
    let names: Vec<&str> =
        given.iter().flat_map(|header| cookie_pairs(header)).map(|(name, _)| name).collect();
    let others = pairs.iter().filter(|(name, _)| !names.contains(&name.as_str()));
    let others = others.map(|(name, value)| match name.as_str() {
        "" => value.clone(),
        name => format!("{name}={value}"),
    });
    given.iter().cloned().chain(others).collect::<Vec<_>>().join("; ")
}

/// The names and values in a `Cookie` header.
pub(crate) fn cookie_pairs(header: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = header.split(';').map(str::trim).filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or(("", pair)))
}
