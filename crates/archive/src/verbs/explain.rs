//! `explain`: shows every rule applied to a URL, in order, with what it changed.
//!
//! The explanation comes from running the rules in `varve-core`, so they are not described twice.
//! Any text can be explained: if a rule refuses it, that step says so and the others continue.

pub use varve_core::alias::{Alias, Aliases};
pub use varve_core::pattern::{AtSign, GroupPattern};
pub use varve_core::url::UrlError;
pub use varve_core::url::explain::{ExplainStep, Explanation};

use varve_core::secret::ShownUrl;
use varve_core::url::Reference;
use varve_repository::history::HistoryReader;

use super::canonical_lookup::{declaring_pages, unconfirmed_page};
use super::fuzzy_lookup::fuzzy_url;
use super::log::spellings;
use crate::error::ArchiveError;

/// The result of explaining a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The rules, one by one.
    pub explanation: Explanation,
    /// Why varve could not use the text as a URL, if it could not.
    pub refusal: Option<UrlError>,
}

/// Explains `url`, with the aliases that apply to it and the groups that it may belong to.
pub fn explain(url: &str, aliases: &Aliases, groups: &[GroupPattern]) -> Explained {
    let explanation = varve_core::url::explain::explain(url, aliases, groups);
    Explained { explanation: hidden(explanation, aliases, groups), refusal: Reference::parse(url).err() }
}

/// Adds the rule by which an archive finds the captures of the URL: the URL itself, another spelling of
/// the same page, a page that declared it as its canonical URL, or for replay alone a URL that differs
/// in parameters without meaning.
pub fn add_lookup(history: &HistoryReader, explanation: &mut Explanation) -> Result<(), ArchiveError> {
    let url = explanation.url.clone();
    if ShownUrl(&url).to_string() != url || url.contains(varve_core::secret::HIDDEN_TEXT) {
        return Ok(());
    }
    let mut stored = Vec::new();
    for spelling in spellings(&url) {
        stored.extend(history.catalog().spellings_of(&spelling)?);
    }
    let (rule, text, after) = if stored.contains(&url) {
        ("lookup/exact", "captures of this very URL are in the archive".to_owned(), url.clone())
    } else if let Some(other) = stored.into_iter().next() {
        ("lookup/page", "captures of the same page are in the archive".to_owned(), other)
    } else if let Some(page) = declaring_pages(history, &url)?.into_iter().next() {
        ("lookup/canonical", "a captured page declared it as its canonical URL".to_owned(), page)
    } else if let Some((captured, rule)) = fuzzy_url(history, &url)? {
        (rule.name(), rule.explanation().to_owned(), captured)
    } else if let Some(page) = unconfirmed_page(history, &url)? {
        let text = format!(
            "nothing is found by it: `{page}`, of another host, declared it as its canonical URL, and no \
             captured page of its own host names that page as an alternate"
        );
        ("lookup/unconfirmed", text, url.clone())
    } else {
        ("lookup/none", "nothing in the archive is found by it".to_owned(), url.clone())
    };
    let changed = after != url;
    let step = ExplainStep { rule: rule.to_owned(), explanation: text, before: url, after, changed };
    explanation.steps.push(step);
    Ok(())
}

/// The replacement for user info in the URL that is explained instead.
const STAND_IN: &str = "hidden";

/// The explanation without the user info of its URL, which may be a password. Some rules rearrange
/// a URL, so the secret cannot be located in their result. For those, the result for a URL with
/// other user info is shown.
fn hidden(explanation: Explanation, aliases: &Aliases, groups: &[GroupPattern]) -> Explanation {
    let shown = ShownUrl(&explanation.url).to_string();
    if shown == explanation.url {
        return explanation;
    }
    let harmless = shown.replacen(varve_core::secret::HIDDEN_TEXT, STAND_IN, 1);
    let other = varve_core::url::explain::explain(&harmless, aliases, groups);
    let same_rules = other.steps.len() == explanation.steps.len();
    let step = |(number, step): (usize, ExplainStep)| {
        let text = |text: &str| ShownUrl(text).to_string();
        let after = match other.steps.get(number) {
            Some(other) if same_rules && step.rule.starts_with("surt/") => other.after.clone(),
            _ if step.rule.starts_with("surt/") && step.changed => varve_core::secret::HIDDEN_TEXT.to_owned(),
            _ => text(&step.after),
        };
        ExplainStep { before: text(&step.before), after, ..step }
    };
    let steps = explanation.steps.into_iter().enumerate().map(step).collect();
    Explanation { url: shown, steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_url_is_explained_and_refused() {
        let explained = explain("http://h/%zz", &Aliases::default(), &[]);
        assert!(explained.refusal.is_some());
        assert!(explained.explanation.steps.len() > 1);
    }

    #[test]
    fn a_password_is_not_shown() {
        let urls = [
            "https://me:sesame@Example.com:443/a/../b?x=1#f",
            "HTTP://me:ses%61me%zz@h/ ",
            "https://me:sesame@h:port/",
            "https://me:sesame/@h/",
        ];
        let groups = [GroupPattern::new("https://h/**", AtSign::Literal)];
        for url in urls {
            let explained = explain(url, &Aliases::default(), &groups);
            let text = format!("{explained:?}");
            assert!(
                !text.contains("sesame") && !text.contains("ses%61me") && !text.contains("me:"),
                "{text}"
            );
        }
        let explanation = explain(urls[0], &Aliases::default(), &[]).explanation;
        assert_eq!(explanation.url, "https://[hidden]@Example.com:443/a/../b?x=1#f");
        let exact = explanation.steps.iter().find(|step| step.rule == "surt/exact").expect("a step");
        assert_eq!(exact.after, "com,example:443@hidden)/a/../b?x=1#f!https");
        assert!(explanation.steps.iter().any(|step| step.after == "https://[hidden]@example.com/b?x=1"));
        // The key is that of the whole URL, including the password.
        let key = |explanation: &Explanation| explanation.steps[1].after.clone();
        let plain = varve_core::url::explain::explain(urls[0], &Aliases::default(), &[]);
        assert_eq!(key(&explanation), key(&plain));
    }

    #[test]
    fn a_url_is_not_refused() {
        assert_eq!(explain("http://h/", &Aliases::default(), &[]).refusal, None);
    }
}
