//! Outbound elements besides forms, scripts and frames: `base`, buttons with their own target,
//! embedded objects, refreshes, links that run scripts, and imported modules.
//!
//! They are reported without points; new ones come first.

use crate::imports::imports;
use crate::surface::{ElementPlace, OutboundElement, OutboundKind};
use crate::text::{attribute_selector, cut};
use crate::tokens::ScoredTag;

/// Maximum length of a script in an address.
const MAX_CODE_BYTES: usize = 200;

/// An outbound element before its target is resolved.
pub(crate) struct FoundOutbound {
    pub(crate) kind: OutboundKind,
    /// The address as written; the script of a link that runs one.
    pub(crate) target: String,
    /// The descriptor of the element.
    pub(crate) descriptor: String,
}

impl FoundOutbound {
    /// The element with its resolved target.
    pub(crate) fn at(
        self,
        target: Option<String>,
        third_party: bool,
        insecure: bool,
        place: ElementPlace,
    ) -> OutboundElement {
        let Self { kind, target: written, descriptor } = self;
        OutboundElement { kind, target: target.unwrap_or(written), third_party, insecure, descriptor, place }
    }
}

/// The outbound elements of a tag.
pub(crate) fn of_tag(tag: &ScoredTag<'_>) -> Vec<FoundOutbound> {
    let name = String::from_utf8_lossy(crate::tokens::beginning(tag.name)).to_ascii_lowercase();
    let by = |kind: OutboundKind, attribute: &str| {
        let target = tag
            .attribute(attribute)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())?;
        let descriptor = format!("{name}{}", attribute_selector(attribute, &target));
        Some(FoundOutbound { kind, target, descriptor })
    };
    let mut found: Vec<FoundOutbound> = match name.as_str() {
        "button" | "input" => by(OutboundKind::Submitter, "formaction"),
        "object" => by(OutboundKind::Embed, "data"),
        "embed" => by(OutboundKind::Embed, "src"),
        "meta" => refresh(tag),
        _ => None,
    }
    .into_iter()
    .collect();
    for attribute in ["href", "xlink:href", "src", "action", "formaction", "data"] {
        found.extend(by(OutboundKind::ScriptLink, attribute).and_then(runs_script));
    }
    // A link that runs a script has no other target.
    if found.iter().any(|way| way.kind == OutboundKind::ScriptLink) {
        found.retain(|way| way.kind == OutboundKind::ScriptLink);
    }
    found
}

/// The modules that a script imports.
pub(crate) fn of_script(tag: &ScoredTag<'_>, script: &[u8]) -> Vec<FoundOutbound> {
    let kind = tag.attribute("type").unwrap_or_default().trim().to_ascii_lowercase();
    let is_module = kind == "module";
    if !is_module && !kind.is_empty() && !kind.ends_with("javascript") {
        return Vec::new();
    }
    let module = |target: String| FoundOutbound {
        kind: OutboundKind::Module,
        descriptor: cut(&target, MAX_CODE_BYTES).to_owned(),
        target,
    };
    imports(script, is_module).into_iter().map(module).collect()
}

/// A `<meta http-equiv=refresh>` with an address.
fn refresh(tag: &ScoredTag<'_>) -> Option<FoundOutbound> {
    tag.attribute("http-equiv").filter(|value| value.trim().eq_ignore_ascii_case("refresh"))?;
    let content = tag.attribute("content")?;
    let target = varve_page::links::refresh::target(&content)?.to_owned();
    Some(FoundOutbound {
        kind: OutboundKind::Refresh,
        descriptor: "meta[http-equiv=\"refresh\"]".to_owned(),
        target,
    })
}

/// The link, if its address is a script. `javascript:void(0)` does nothing and does not count.
fn runs_script(link: FoundOutbound) -> Option<FoundOutbound> {
    // As browsers read addresses.
    let plain: String = link.target.chars().filter(|letter| !matches!(letter, '\t' | '\n' | '\r')).collect();
    let plain = plain.trim_start_matches(|letter: char| letter <= ' ');
    let scheme = plain.get(..11).filter(|scheme| scheme.eq_ignore_ascii_case("javascript:"))?;
    let code = plain[scheme.len()..].replace([' ', ';'], "").to_ascii_lowercase();
    let does_nothing =
        matches!(code.as_str(), "" | "void(0)" | "void0" | "void('')" | "returnfalse" | "false");
    let told = cut(&link.target, MAX_CODE_BYTES).to_owned();
    (!does_nothing).then_some(FoundOutbound { target: told, ..link })
}
