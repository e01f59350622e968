//! `varve demo`: the tour, offline. It shows what works, by doing it.
//!
//! It grows as varve does, and stays a tour: whatever it needs belongs to the verbs that it shows, and each part is a
//! function of its own in [`Demo::run`].

use varve_archive::verbs::explain::{Aliases, explain};
use varve_archive::verbs::key::key;

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{Printer, STRONG};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve demo";

/// One page, as a newsletter, a bookmark and a reader's own typing have it.
const SPELLINGS: [&str; 3] = [
    "https://example.com/news?utm_source=letter&page=2&lang=en",
    "HTTPS://example.com/news?lang=en&page=2#comments",
    "https://example.com/news?page=2&lang=en&utm_medium=mail&utm_campaign=may",
];

/// Take the tour: see what varve does
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Demo {}

impl Verb for Demo {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        one_page_three_spellings(&mut session.printer)?;
        Ok(Outcome::Done)
    }
}

fn one_page_three_spellings(printer: &mut Printer) -> Result<(), Error> {
    heading("Three URLs, one page", printer)?;
    for url in SPELLINGS {
        printer.line(format_args!("  {url}"))?;
    }
    heading("varve key: cleaned, they are the same, and are found by the same number", printer)?;
    for url in SPELLINGS {
        let report = key(url).expect("the sample URLs are URLs");
        super::key::print(&report, printer)?;
    }
    heading("varve explain: every rule applied to the first of them", printer)?;
    super::explain::print(&explain(SPELLINGS[0], &Aliases::default(), &[]).explanation, printer)
}

fn heading(text: &str, printer: &mut Printer) -> Result<(), Error> {
    printer.line(format_args!("\n{STRONG}{text}{STRONG:#}\n"))
}
