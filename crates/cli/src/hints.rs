//! What can be done where a server cannot be reached as it was meant: one place, and the same words, for all verbs that
//! ask the web.

use std::collections::BTreeMap;

use crate::printer::{Printer, visible};

/// What was met that an option, a line in `varve.toml` or another URL would prevent. Each sort is told once.
#[derive(Debug, Default)]
pub(crate) struct Hints(BTreeMap<String, String>);

impl Hints {
    /// Something could not be had, for a reason that has this word.
    pub(crate) fn see(&mut self, kind: &str, url: &str) {
        if !self.0.contains_key(kind)
            && let Some(hint) = for_failure(kind, url)
        {
            self.0.insert(kind.to_owned(), hint);
        }
    }

    /// Says what can be done.
    pub(crate) fn tell(&self, printer: &mut Printer) {
        for hint in self.0.values() {
            printer.say(format_args!("hint: {}", visible(hint)));
        }
    }
}

/// What can be done about a failure of that sort.
pub(crate) fn for_failure(kind: &str, url: &str) -> Option<String> {
    Some(match kind {
        "robots" => "`--ignore-robots` asks for what a site asks robots not to ask for".to_owned(),
        "guard" => "`--allow-private` lets one run ask private addresses; \
                    `allow_private = [\"HOST\", \"10.0.0.0/8\"]` in `varve.toml` allows single ones for good"
            .to_owned(),
        "tls:issuer" => "`--ca FILE` trusts the certificates in a file besides the system's".to_owned(),
        "tls:expired" => {
            "if the clock of this machine is right, only whoever runs the site can renew its certificate"
                .to_owned()
        }
        "tls:name" => {
            "ask for the site by a name that its certificate is for, with or without `www.`".to_owned()
        }
        "tls:none" => format!("`{}` may be what was meant", url.replacen("https:", "http:", 1)),
        "tls:wanted" => format!("`{}` may be what was meant", url.replacen("http:", "https:", 1)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_scheme_is_named_with_the_url() {
        let hint = |kind, url| for_failure(kind, url).unwrap_or_default();
        assert_eq!(hint("tls:none", "https://h:80/"), "`http://h:80/` may be what was meant");
        assert_eq!(hint("tls:wanted", "http://h:443/?http:"), "`https://h:443/?http:` may be what was meant");
        assert_eq!(for_failure("dns", "http://h/"), None);
    }
}
