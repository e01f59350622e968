//! `varve demo`: a tour that shows each feature by running it, offline.
//!
//! Each step prints a varve command and runs it. A small site on loopback is captured, changed and
//! captured again. Its archive is deleted at the end, unless `--keep` is given.

mod site;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use varve_archive::verbs::demo::DemoArchive;
use varve_archive::verbs::doctor;

use self::site::DemoSite;
use crate::printer::{FAINT_STYLE, Printer, STRONG_STYLE};
use crate::session::{SOFTWARE_NAME, Session};
use crate::verb::{Error, ExitStatus, Verb};
use crate::{clock, signals};

/// Show what varve does, offline
///
/// Serves a small site on this machine, captures it, changes it, captures it again and checks it.
/// On a terminal, the tour ends with the archive in a browser, until Ctrl-C. No request leaves the
/// machine, and nothing is kept without `--keep`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve demo
  varve demo --keep museum")]
pub(super) struct DemoArgs {
    /// Keep the archive of the tour in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Exit at the end, instead of showing the archive in a browser
    #[arg(long)]
    no_serve: bool,
}

impl Verb for DemoArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let stop = signals::stop_flag();
        let site = DemoSite::start().map_err(|source| Error::Write { path: "127.0.0.1".into(), source })?;
        let stage = DemoArchive::new(session.open_options()?, self.keep.as_deref())?;
        let tour = DemoTour { stage, site };
        for part in [DemoTour::two_captures, DemoTour::history, DemoTour::check, DemoTour::proof] {
            part(&tour, session)?;
            // An interrupted tour leaves nothing behind either.
            if stop.load(Ordering::Relaxed) {
                return Ok(ExitStatus::Interrupted);
            }
        }
        tour.print_next_steps(self.keep.as_deref(), &mut session.printer)?;
        if session.printer.is_watched() && !self.no_serve {
            let anywhere = ["serve", "--listen", "127.0.0.1:0", "--replay-listen", "127.0.0.1:0"];
            tour.step(session, "And all of it in a browser, until Ctrl-C:", &anywhere)?;
        }
        Ok(ExitStatus::Done)
    }
}

/// The archive and the site of the tour.
struct DemoTour {
    stage: DemoArchive,
    site: DemoSite,
}

impl DemoTour {
    fn two_captures(&self, session: &mut Session) -> Result<(), Error> {
        let url = self.site.url("/");
        let capture = |message: &'static str| {
            vec!["capture", &url, "--scope", "host", "--allow-private", "--delay", "0s", "-m", message]
        };
        let say = "A small site is up on this machine. All of it becomes one version:";
        self.step(session, say, &capture("the site as we found it"))?;
        self.site.grow_older();
        let say = "Somebody changed the site. What did not change is not stored again:";
        self.step(session, say, &capture("a year later"))
    }

    fn history(&self, session: &mut Session) -> Result<(), Error> {
        self.step(session, "Two layers of history:", &["log"])?;
        self.step(session, "What changed between them:", &["diff", "--stat"])?;
        let url = self.site.url("/");
        self.step(session, "And in one page, line by line:", &["diff", "--url", &url])?;
        self.step(session, "The page as it was, and not as it is:", &["cat", &url, "--at", "HEAD~1"])
    }

    fn check(&self, session: &mut Session) -> Result<(), Error> {
        self.site.grow_older();
        let say = "A page was removed. Does the live site still match the archive? The responses are stored as evidence:";
        let words = ["check", "--against-archive", "--allow-private", "--delay", "0s", "--retry-delay", "0s"];
        self.step(session, say, &words)
    }

    fn proof(&self, session: &mut Session) -> Result<(), Error> {
        self.step(session, "Is every byte what it was? All digests, ids and places, checked:", &["audit"])?;
        let printer = &mut session.printer;
        explain("One bit of a copy is flipped. It is found, and mended as far as can be:", printer)?;
        let (damaged, repaired) = (self.stage.damaged_copy()?, self.stage.repaired());
        command(&["doctor", "damaged.warc.gz", "--repair", "repaired.warc.gz"], printer)?;
        doctor::repair(&damaged, &repaired, SOFTWARE_NAME, clock::now())?;
        for path in [damaged, repaired] {
            let report = doctor::examine(&path, doctor::options(false), &|_| {})?;
            // Print the file name only: the folder is temporary.
            super::doctor::print(Path::new(path.file_name().unwrap_or_default()), &report, false, printer)?;
        }
        Ok(())
    }

    fn print_next_steps(&self, kept: Option<&Path>, printer: &mut Printer) -> Result<(), Error> {
        explain("What to try next:", printer)?;
        match kept {
            Some(folder) => {
                let folder = folder.display();
                printer.line(format_args!(
                    "  varve -C {folder} log            the archive of this tour stays in {folder}"
                ))?;
                printer
                    .line(format_args!("  varve -C {folder} show HEAD      what is in its last version"))?;
                printer.line(format_args!("  varve -C {folder} serve          the archive in a browser"))?;
            }
            None => printer
                .line("  varve demo --keep museum        the tour again, with an archive that stays")?,
        }
        printer.line("  varve init museum               an archive of your own")?;
        printer.line("  varve -C museum capture URL     a page of the web, with all that belongs to it")?;
        printer.line("  varve -C museum plan suggest URL\n                                  what else is worth capturing, from the links of a page")
    }

    /// Explains a step, and runs it.
    fn step(&self, session: &mut Session, why: &str, words: &[&str]) -> Result<(), Error> {
        explain(why, &mut session.printer)?;
        command(words, &mut session.printer)?;
        session.call(self.stage.root(), words).map(|_| ())
    }
}

fn explain(why: &str, printer: &mut Printer) -> Result<(), Error> {
    printer.line(format_args!("\n{STRONG_STYLE}{why}{STRONG_STYLE:#}"))
}

fn command(words: &[&str], printer: &mut Printer) -> Result<(), Error> {
    let quoted = |word: &&str| if word.contains(' ') { format!("'{word}'") } else { (*word).to_owned() };
    let line = words.iter().map(quoted).collect::<Vec<_>>().join(" ");
    printer.line(format_args!("{FAINT_STYLE}$ varve {line}{FAINT_STYLE:#}"))
}
