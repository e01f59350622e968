//! How a page reaches out besides forms, scripts and frames: what it is relative to, buttons that send elsewhere, what it embeds,
//! where it sends visitors by itself, links that run scripts, and modules that its scripts import.
//!
//! Owns what of a tag is such. Nothing of it moves a score: it is told, and what of it is new is told first.

use crate::imports::imports;
use crate::surface::{Place, Reach, ReachKind};
use crate::text::{attribute_selector, cut};
use crate::tokens::ScoredTag;

/// A script in an address is told by so much of it.
const LONGEST_CODE: usize = 200;

/// A way out, before it is known where it leads.
pub(crate) struct Found {
    pub(crate) kind: ReachKind,
    /// The address as written; the script of a link that runs one.
    pub(crate) target: String,
    /// What the element is known by.
    pub(crate) descriptor: String,
}

impl Found {
    /// The way out, now that it is known where it leads.
    pub(crate) fn at(self, target: Option<String>, third_party: bool, insecure: bool, place: Place) -> Reach {
        let Self { kind, target: written, descriptor } = self;
        Reach { kind, target: target.unwrap_or(written), third_party, insecure, descriptor, place }
    }
}

/// The ways out that a tag is.
pub(crate) fn of_tag(tag: &ScoredTag<'_>) -> Vec<Found> {
    let name = String::from_utf8_lossy(crate::tokens::beginning(tag.name)).to_ascii_lowercase();
    let by = |kind: ReachKind, attribute: &str| {
        let target = tag
            .attribute(attribute)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())?;
        let descriptor = format!("{name}{}", attribute_selector(attribute, &target));
        Some(Found { kind, target, descriptor })
    };
    let mut found: Vec<Found> = match name.as_str() {
        "button" | "input" => by(ReachKind::Submitter, "formaction"),
        "object" => by(ReachKind::Embed, "data"),
        "embed" => by(ReachKind::Embed, "src"),
        "meta" => refresh(tag),
        _ => None,
    }
    .into_iter()
    .collect();
    for attribute in ["href", "xlink:href", "src", "action", "formaction", "data"] {
        found.extend(by(ReachKind::ScriptLink, attribute).and_then(runs_script));
    }
    // What runs a script leads nowhere else.
    if found.iter().any(|way| way.kind == ReachKind::ScriptLink) {
        found.retain(|way| way.kind == ReachKind::ScriptLink);
    }
    found
}

/// The modules that a script imports.
pub(crate) fn of_script(tag: &ScoredTag<'_>, script: &[u8]) -> Vec<Found> {
    let kind = tag.attribute("type").unwrap_or_default().trim().to_ascii_lowercase();
    let is_module = kind == "module";
    if !is_module && !kind.is_empty() && !kind.ends_with("javascript") {
        return Vec::new();
    }
    let module = |target: String| Found {
        kind: ReachKind::Module,
        descriptor: cut(&target, LONGEST_CODE).to_owned(),
        target,
    };
    imports(script, is_module).into_iter().map(module).collect()
}

/// `<meta http-equiv=refresh>` that leads elsewhere.
fn refresh(tag: &ScoredTag<'_>) -> Option<Found> {
    tag.attribute("http-equiv").filter(|value| value.trim().eq_ignore_ascii_case("refresh"))?;
    let content = tag.attribute("content")?;
    let target = varve_page::links::refresh::target(&content)?.to_owned();
    Some(Found { kind: ReachKind::Refresh, descriptor: "meta[http-equiv=\"refresh\"]".to_owned(), target })
}

/// The link, if its address is a script that does something. `javascript:void(0)` is how links are made that do nothing.
fn runs_script(link: Found) -> Option<Found> {
    // As browsers read addresses.
    let plain: String = link.target.chars().filter(|letter| !matches!(letter, '\t' | '\n' | '\r')).collect();
    let plain = plain.trim_start_matches(|letter: char| letter <= ' ');
    let scheme = plain.get(..11).filter(|scheme| scheme.eq_ignore_ascii_case("javascript:"))?;
    let code = plain[scheme.len()..].replace([' ', ';'], "").to_ascii_lowercase();
    let does_nothing =
        matches!(code.as_str(), "" | "void(0)" | "void0" | "void('')" | "returnfalse" | "false");
    let told = cut(&link.target, LONGEST_CODE).to_owned();
    (!does_nothing).then_some(Found { target: told, ..link })
}
