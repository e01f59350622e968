//! Pages whose bodies are missing, damaged or unreadable, as text.

use varve_archive::{BodyFailure, BodyFailures};

use crate::error_hints::MISSING_BODY_HINT;
use crate::printer::{Printer, counted, visible};

/// Prints the number of pages with each problem, what was done with them, and the first of them.
pub(crate) fn say(troubles: &BodyFailures, done: &str, printer: &mut Printer) {
    for (trouble, pages) in troubles.iter() {
        let heading = format!("{} {done}: {}", counted(pages.count, "page"), reason(trouble));
        printer.say_list(heading, pages.urls.iter().map(|url| visible(url)), pages.count);
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
