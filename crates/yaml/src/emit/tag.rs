//! Tags: the names of types, written only where the text alone would be read as another.

use crate::parse::YAML_TAG_PREFIX;
use crate::value::Kind;

use super::style::Style;

/// What stands before a scalar, if anything must.
pub(super) fn of_scalar(kind: &Kind, style: Style) -> Option<String> {
    match kind {
        Kind::Tagged(tag) => Some(written(tag)),
        Kind::Binary => Some(written(&format!("{YAML_TAG_PREFIX}binary"))),
        // The spelling of these is read as what they are, and quoted words are texts.
        Kind::Text | Kind::Plain => None,
        Kind::Null | Kind::Bool | Kind::Int | Kind::Float | Kind::Timestamp => {
            (style != Style::Plain).then(|| name(kind).to_owned())
        }
    }
}

/// How long the tag of a key would be: it counts even where it is not written.
pub(super) fn length(kind: &Kind) -> usize {
    match kind {
        Kind::Tagged(tag) => written(tag).len(),
        known => name(known).len(),
    }
}

fn name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Null => "!!null",
        Kind::Bool => "!!bool",
        Kind::Int => "!!int",
        Kind::Float => "!!float",
        Kind::Timestamp => "!!timestamp",
        Kind::Binary => "!!binary",
        Kind::Text | Kind::Plain | Kind::Tagged(_) => "!!str",
    }
}

/// A tag in its short form.
pub(super) fn written(tag: &str) -> String {
    if tag == "!" || tag.is_empty() {
        return "!".to_owned();
    }
    if let Some(rest) = tag.strip_prefix(YAML_TAG_PREFIX).filter(|rest| !rest.is_empty()) {
        return format!("!!{}", escaped(rest, true));
    }
    match tag.strip_prefix('!') {
        Some(rest) => format!("!{}", escaped(rest, false)),
        None => format!("!<{}>", escaped(tag, true)),
    }
}

fn escaped(text: &str, bang: bool) -> String {
    let kept = |byte: u8| {
        byte.is_ascii_alphanumeric() || b"-;/?:@&=+$,_.~*'()[]".contains(&byte) || byte == b'!' && bang
    };
    let mut written = String::new();
    for byte in text.bytes() {
        if kept(byte) {
            written.push(char::from(byte));
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
    }
    written
}
