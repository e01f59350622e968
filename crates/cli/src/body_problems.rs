//! Pages whose bodies are missing, damaged or unreadable, as text.

use varve_archive::{BodyFailure, BodyFailures};

use crate::error_hints::MISSING_BODY_HINT;
use crate::printer::{Printer, counted, visible};

/// Pages listed for each problem.
pub(crate) const MAX_LISTED_PAGES: usize = 10;

/// Prints the number of pages with each problem, what was done with them, and the first of them.
pub(crate) fn say(troubles: &BodyFailures, done: &str, printer: &mut Printer) {
    for (trouble, pages) in troubles.iter() {
        let mut text = format!("{} {done}: {}", counted(pages.count, "page"), reason(trouble));
        for url in pages.urls.iter().take(MAX_LISTED_PAGES) {
            text.push_str(&format!("\n  {}", visible(url)));
        }
        let more = pages.count.saturating_sub(MAX_LISTED_PAGES as u64);
        if more > 0 {
            text.push_str(&format!("\n  and {more} more"));
        }
        printer.say(text);
    }
}

/// The problem, and what to do about it.
fn reason(trouble: BodyFailure) -> String {
    match trouble {
        BodyFailure::Missing => format!("their bodies are missing; {MISSING_BODY_HINT}"),
        BodyFailure::Damaged => "their bodies are damaged; `varve audit` lists the damage".to_owned(),
        BodyFailure::Unreadable(kind) => format!("their bodies cannot be read: {kind}"),
    }
}

/// The problem as JSON has it.
pub(crate) const fn word(trouble: BodyFailure) -> &'static str {
    match trouble {
        BodyFailure::Missing => "absent",
        BodyFailure::Damaged => "damaged",
        BodyFailure::Unreadable(_) => "unreadable",
    }
}
