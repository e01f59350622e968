//! For GitHub workflows: a failure is an annotation at its record. URLs that answer as
//! expected are not mentioned.

use super::CheckedUrl;
use crate::text::visible;

pub(super) fn line(checked: &CheckedUrl) -> String {
    if !checked.verdict.is_failure() {
        return String::new();
    }
    let mut places = Vec::new();
    if let Some(file) = &checked.file {
        places.push(format!("file={}", property(&file.to_string_lossy())));
        places.extend(checked.line.map(|line| format!("line={line}")));
    }
    places.push(format!("title={}", property(checked.verdict.kind().name())));
    let reason = checked.verdict.reason().unwrap_or_default();
    let details: String = checked.details().iter().map(|line| format!("\n{line}")).collect();
    format!("::error {}::{}\n", places.join(","), message(&format!("{}: {reason}{details}", checked.url)))
}

/// Escapes line ends, because a new line could begin another command, and the escape character
/// itself.
fn message(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    visible(&text).into_owned()
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
