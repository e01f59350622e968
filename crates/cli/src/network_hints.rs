//! Hints for requests that fail or are not sent, the same for all verbs that use the network.

use std::collections::BTreeMap;

/// Hints for the failures of a run: options, settings or URLs that would prevent them. One for each kind.
#[derive(Debug, Default)]
pub(crate) struct NetworkHints(BTreeMap<String, String>);

impl NetworkHints {
    /// Records a failure of this kind.
    pub(crate) fn add(&mut self, kind: &str, url: &str) {
        if !self.0.contains_key(kind)
            && let Some(hint) = hint_for_fetch_error(kind, url)
        {
            self.0.insert(kind.to_owned(), hint);
        }
    }

    /// The hints, one for each kind of failure.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }
}

/// The hint for one kind of failure.
pub(crate) fn hint_for_fetch_error(kind: &str, url: &str) -> Option<String> {
    Some(match kind {
        "robots" => "`--ignore-robots` captures pages that robots.txt excludes".to_owned(),
        "guard" => "`--allow-private` allows private addresses for one run; \
                    `allow_private = [\"HOST\", \"10.0.0.0/8\"]` in `varve.toml` allows single ones permanently"
            .to_owned(),
        "tls:issuer" => "`--ca FILE` trusts the certificates in a file besides those of the system".to_owned(),
        "tls:expired" => {
            "check the clock of this machine; if it is right, the operator of the site must renew the certificate"
                .to_owned()
        }
        "tls:name" => {
            "use a host name that the certificate is for, with or without `www.`".to_owned()
        }
        "tls:none" => format!("`{}` may be the right URL", url.replacen("https:", "http:", 1)),
        "tls:wanted" => format!("`{}` may be the right URL", url.replacen("http:", "https:", 1)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_the_url_with_the_other_scheme() {
        let hint = |kind, url| hint_for_fetch_error(kind, url).unwrap_or_default();
        assert_eq!(hint("tls:none", "https://h:80/"), "`http://h:80/` may be the right URL");
        assert_eq!(hint("tls:wanted", "http://h:443/?http:"), "`https://h:443/?http:` may be the right URL");
        assert_eq!(hint_for_fetch_error("dns", "http://h/"), None);
    }
}
