//! Pages whose bodies cannot be had, put into words.

use varve_archive::{BodyTrouble, Troubles};

use crate::printer::{Printer, counted, visible};

/// So many pages of a kind are named.
pub(crate) const NAMED: usize = 10;

/// Who says why a body is not here.
pub(crate) const WHY_NOT_HERE: &str =
    "`varve log URL` says of a page who took it out and why, and `varve audit` names what is lost";

/// Says how many pages have which trouble, what was done with them for it, and which the first of them are.
pub(crate) fn say(troubles: &Troubles, done: &str, printer: &mut Printer) {
    for (trouble, pages) in troubles.iter() {
        let mut told = format!("{} {done}: {}", counted(pages.count, "page"), reason(trouble));
        for url in pages.urls.iter().take(NAMED) {
            told.push_str(&format!("\n  {}", visible(url)));
        }
        let more = pages.count.saturating_sub(NAMED as u64);
        if more > 0 {
            told.push_str(&format!("\n  and {more} more"));
        }
        printer.say(told);
    }
}

/// What is the matter with bodies, and what to do about it.
fn reason(trouble: BodyTrouble) -> String {
    match trouble {
        BodyTrouble::Missing => format!("the bodies are not here; {WHY_NOT_HERE}"),
        BodyTrouble::Damaged => "the bodies are damaged; `varve audit` names the damage".to_owned(),
        BodyTrouble::Unreadable(kind) => format!("the bodies cannot be read: {kind}"),
    }
}

/// Trouble as machines read it.
pub(crate) const fn word(trouble: BodyTrouble) -> &'static str {
    match trouble {
        BodyTrouble::Missing => "absent",
        BodyTrouble::Damaged => "damaged",
        BodyTrouble::Unreadable(_) => "unreadable",
    }
}
