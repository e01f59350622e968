//! Import maps: which URL a module specifier stands for.
//!
//! `imports` and all `scopes` are read as one table: an archive needs what any script may load. The
//! first entry for a specifier counts, and `imports` comes first.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use varve_core::url::Base;

use crate::links::emit::{LinkEmitter, RawLink, is_web};
use crate::links::link::{LinkPlace, LinkRole};

/// Maximum number of entries for single specifiers. The rest is left out.
const MAX_ENTRIES: usize = 10_000;
/// Maximum number of entries for prefixes, each of which is compared with every specifier.
const MAX_PREFIXES: usize = 500;

/// The specifiers that a page maps to URLs. Those that are URLs themselves are absolute.
#[derive(Debug, Default)]
pub(in crate::links) struct ImportMap {
    exact: HashMap<String, String>,
    /// Specifiers and addresses that end with `/`: the rest of a specifier is added.
    prefixes: Vec<(String, String)>,
}

impl ImportMap {
    /// Adds the entries of a map, and emits the URLs that they name.
    pub(in crate::links) fn read(
        &mut self,
        json: &str,
        offset: Option<u64>,
        place: &LinkPlace<'_>,
        emitter: &mut LinkEmitter<'_>,
    ) {
        let Ok(map) = serde_json::from_str::<Value>(json) else { return };
        let scopes = map["scopes"].as_object().into_iter().flat_map(|scopes| scopes.values());
        let tables = std::iter::once(&map["imports"]).chain(scopes);
        for (specifier, address) in tables.filter_map(Value::as_object).flatten() {
            let Some(address) = address.as_str().filter(|address| is_url_like(address)) else { continue };
            let key = absolute(specifier, &emitter.base);
            let is_full = match specifier.ends_with('/') {
                true => self.prefixes.len() >= MAX_PREFIXES,
                false => self.exact.len() >= MAX_ENTRIES,
            };
            if is_full {
                emitter.report.cut += 1;
            } else if !specifier.ends_with('/') {
                emitter.emit(RawLink::new(address, place.clone(), LinkRole::Embed).at(offset));
                self.exact.entry(key.into_owned()).or_insert_with(|| address.to_owned());
            } else if address.ends_with('/') {
                self.prefixes.push((key.into_owned(), address.to_owned()));
            }
        }
    }

    /// The reference for a module specifier; `None` if it is a bare name that no entry has.
    pub(in crate::links) fn resolve<'t>(&self, specifier: &'t str, base: &Base) -> Option<Cow<'t, str>> {
        if self.exact.is_empty() && self.prefixes.is_empty() {
            return is_url_like(specifier).then_some(Cow::Borrowed(specifier));
        }
        let key = absolute(specifier, base);
        if let Some(address) = self.exact.get(&*key) {
            return Some(Cow::Owned(address.clone()));
        }
        let matching = self.prefixes.iter().filter(|(prefix, _)| key.starts_with(prefix.as_str()));
        if let Some((prefix, address)) = matching.max_by_key(|(prefix, _)| prefix.len()) {
            return Some(Cow::Owned(format!("{address}{}", &key[prefix.len()..])));
        }
        is_url_like(specifier).then_some(Cow::Borrowed(specifier))
    }
}

/// A specifier as it is looked up: absolute if it is a URL.
fn absolute<'t>(specifier: &'t str, base: &Base) -> Cow<'t, str> {
    let resolved = if is_url_like(specifier) { base.resolve(specifier).ok() } else { None };
    resolved.map_or(Cow::Borrowed(specifier), Cow::Owned)
}

/// Whether a specifier is a URL, and not a bare name.
fn is_url_like(specifier: &str) -> bool {
    ["/", "./", "../"].iter().any(|prefix| specifier.starts_with(prefix)) || is_web(specifier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::link::{LinkLimits, PageLink};

    const MAP: &str = r#"{"imports": {"lake": "./lake.js", "mud/": "/mud/", "mud/fine/": "https://cdn/fine/", "bad": "bare",
        "worse/": "/not-a-folder", "./old.js": "./new.js", "null": null}, "scopes": {"/deep/": {"lake": "/deep/lake.js", "sand": "/sand.js"}}}"#;

    fn read(json: &str) -> (ImportMap, Vec<String>) {
        let (mut map, mut found) = (ImportMap::default(), Vec::new());
        let mut sink = |link: PageLink<'_>| found.push(link.target);
        let mut emitter = LinkEmitter::new(base(), LinkLimits::default(), &mut sink);
        map.read(json, None, &LinkPlace::Line, &mut emitter);
        (map, found)
    }

    fn base() -> Base {
        Base::parse("http://h/a/b").unwrap()
    }

    #[test]
    fn every_address_of_a_map_is_needed() {
        let wanted = ["http://h/a/lake.js", "http://h/a/new.js", "http://h/deep/lake.js", "http://h/sand.js"];
        assert_eq!(read(MAP).1, wanted);
    }

    #[test]
    fn specifiers_are_resolved() {
        let map = read(MAP).0;
        for (specifier, wanted) in [
            ("lake", Some("./lake.js")),
            ("sand", Some("/sand.js")),
            ("mud/a.js", Some("/mud/a.js")),
            ("mud/fine/a.js", Some("https://cdn/fine/a.js")),
            ("mud", None),
            ("bad", None),
            ("worse/a", None),
            ("unknown", None),
            ("./old.js", Some("./new.js")),
            ("/a/old.js", Some("./new.js")),
            ("./other.js", Some("./other.js")),
            ("https://h/x", Some("https://h/x")),
        ] {
            assert_eq!(map.resolve(specifier, &base()).as_deref(), wanted, "{specifier}");
        }
    }

    #[test]
    fn what_is_no_map_is_nothing() {
        for json in
            ["", "[]", "{", "null", "{\"imports\": 1}", "{\"scopes\": [1]}", "{\"imports\": {\"a\": {}}}"]
        {
            assert_eq!(read(json).1, [""; 0], "{json}");
        }
    }
}
