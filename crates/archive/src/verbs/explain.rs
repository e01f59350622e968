//! `explain`: every rule applied to a URL, in order, with what it changed.
//!
//! The rules explain themselves in `varve-core`, by running; nothing is told twice. An explanation is given for
//! any text: where a rule refuses it, the step says so and the others go on.

pub use varve_core::alias::{Alias, Aliases};
pub use varve_core::pattern::{AtSign, GroupPattern};
pub use varve_core::url::UrlError;
pub use varve_core::url::explain::{Explanation, Step};

use varve_core::url::Reference;

/// What came of explaining a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The rules, one by one.
    pub explanation: Explanation,
    /// Why varve could not use the text as a URL, if so.
    pub refusal: Option<UrlError>,
}

/// Explains `url`, with the aliases that apply to it and the groups that it may belong to.
pub fn explain(url: &str, aliases: &Aliases, groups: &[GroupPattern]) -> Explained {
    let explanation = varve_core::url::explain::explain(url, aliases, groups);
    Explained { explanation, refusal: Reference::parse(url).err() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_url_is_explained_and_refused() {
        let explained = explain("http://h/%zz", &Aliases::default(), &[]);
        assert!(explained.refusal.is_some());
        assert!(explained.explanation.steps.len() > 1);
    }

    #[test]
    fn a_url_is_not_refused() {
        assert_eq!(explain("http://h/", &Aliases::default(), &[]).refusal, None);
    }
}
