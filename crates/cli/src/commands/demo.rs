//! `varve demo`: the tour, offline. It shows what works, by doing it.
//!
//! It grows as varve does, and stays a tour: whatever it needs belongs to the verbs that it shows, and each part is a
//! function of its own in [`Demo::run`].

use std::path::Path;

use varve_archive::verbs::audit::{self, AuditRequest};
use varve_archive::verbs::demo::Stage;
use varve_archive::verbs::doctor;
use varve_archive::verbs::explain::{Aliases, explain};
use varve_archive::verbs::key::key;

use super::{Outcome, Verb};
use crate::clock;
use crate::error::Error;
use crate::printer::{Printer, STRONG};
use crate::session::{SOFTWARE, Session};

const EXAMPLES: &str = "\
Examples:
  varve demo";

/// One page, as a newsletter, a bookmark and a reader's own typing have it.
const SPELLINGS: [&str; 3] = [
    "https://example.com/news?utm_source=letter&page=2&lang=en",
    "HTTPS://example.com/news?lang=en&page=2#comments",
    "https://example.com/news?page=2&lang=en&utm_medium=mail&utm_campaign=may",
];

/// What is stored on the tour.
const LAYERS: [&str; 3] = [
    "1842: a dark layer, a cold summer",
    "1843: a light layer, much meltwater",
    "1842: a dark layer, a cold summer",
];

/// Take the tour: see what varve does
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Demo {}

impl Verb for Demo {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        one_page_three_spellings(&mut session.printer)?;
        kept_for_good(session)?;
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

/// What is stored twice is kept once, and what changes by a single bit is noticed.
fn kept_for_good(session: &mut Session) -> Result<(), Error> {
    let stage = Stage::new(session.opening())?;
    let printer = &mut session.printer;
    heading(
        "varve init, varve store: two texts, one of them twice; the id is the SHA-256 of the bytes",
        printer,
    )?;
    for kept in stage.store(&LAYERS)? {
        let word = if kept.new { "new" } else { "there already" };
        printer.line(format_args!("  {}  {word}", kept.id))?;
    }
    heading("varve audit: every byte is what it was", printer)?;
    look(&stage, printer)?;
    heading("one bit of the archive flipped, and varve audit again", printer)?;
    stage.flip_a_bit()?;
    look(&stage, printer)?;
    heading("varve doctor: what is wrong with the file, and with what --repair makes of it", printer)?;
    treat(&stage, printer)?;
    printer.say("\nThe archive of this tour is gone. `varve init museum` makes one that stays; `varve --help` lists the verbs.");
    Ok(())
}

fn look(stage: &Stage, printer: &mut Printer) -> Result<(), Error> {
    let archive = stage.archive()?;
    let mut findings = Vec::new();
    let done =
        audit::audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| findings.push(finding))?;
    for finding in &findings {
        super::audit::print(finding, printer)?;
    }
    super::audit::conclude(&done, printer)
}

/// Examines the silo, repairs it, and examines what came of it.
fn treat(stage: &Stage, printer: &mut Printer) -> Result<(), Error> {
    doctor::repair(&stage.silo(), &stage.repaired(), SOFTWARE, clock::now())?;
    for path in [stage.silo(), stage.repaired()] {
        let report = doctor::examine(&path, doctor::options(false), &|_| {})?;
        // The folder is a temporary one, whose name says nothing.
        super::doctor::print(Path::new(path.file_name().unwrap_or_default()), &report, false, printer)?;
    }
    Ok(())
}

fn heading(text: &str, printer: &mut Printer) -> Result<(), Error> {
    printer.line(format_args!("\n{STRONG}{text}{STRONG:#}\n"))
}
