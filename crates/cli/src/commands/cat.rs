//! `varve cat`: prints a page as it was.

use std::io::{self, Write};

use varve_archive::verbs::cat::{CaptureSelector, body, head, wire};
use varve_archive::verbs::gone_page::{GonePage, SelectedPage, look_up_page};
use varve_archive::{Capture, CaptureChoice, CaptureOwner, RepositoryError};

use super::capture_choice::CaptureChoiceArgs;
use crate::printer::{Printer, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::at;
use crate::version_text::{declaring_page_text, short_version_id};

/// Print a page as it was
///
/// Without `--at`, prints the newest capture, even if it is a failure; `--newest-good` skips
/// failures. A time selects the newest capture that is not later; a version selects the capture in
/// that version, and a check the response that decided its verdict on the URL.
///
/// If the page was gone at that time or in that version, `cat` reports since when, and how to print
/// it as it was before; the exit code is 1. A response that says so (404 or 410) is printed. If the
/// page was left out, by a capture or a commit that covered it, nothing is printed. If
/// `varve purge` removed the page, `cat` reports who removed it, when and why.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve cat https://example.com/
  varve cat https://example.com/ --at 2026-03-01
  varve cat https://example.com/ --at 2w
  varve cat https://example.com/ --at before-the-relaunch
  varve cat https://example.com/logo.png > logo.png
  varve cat https://example.com/ --headers
  varve -C museum.crystalproj cat https://example.com/ --newest-good")]
pub(super) struct CatArgs {
    /// The URL
    url: String,

    /// A time (a day or a second counts to its end), an age such as `2d`, a version, or a check
    #[arg(long, value_name = "TIME|VERSION|CHECK", conflicts_with = "newest_good")]
    at: Option<String>,

    #[command(flatten)]
    choosing: CaptureChoiceArgs,

    /// Print the response header instead of the body
    #[arg(long)]
    headers: bool,

    /// Print the response as it was received, with header, chunks and content codings; for pages that did not come from
    /// the web, a header and the body
    #[arg(long, conflicts_with = "headers")]
    raw: bool,
}

impl Verb for CatArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = session.open_reader()?;
        let when = match &self.at {
            Some(text) => at(&history, text)?,
            None => match self.choosing.choice() {
                CaptureChoice::Newest => CaptureSelector::Newest,
                CaptureChoice::NewestGood => CaptureSelector::NewestGood,
            },
        };
        let SelectedPage { capture, gone } = look_up_page(&history, &self.url, &when)?;
        let status =
            if gone.is_some() && self.at.is_some() { ExitStatus::Findings } else { ExitStatus::Done };
        if let Some(gone) = &gone {
            self.report_gone(gone, capture.as_ref(), &mut session.printer);
        }
        let Some(capture) = capture else { return Ok(status) };
        let other = declaring_page_text(&self.url, &capture.url);
        other.iter().for_each(|other| session.printer.say(other));
        if capture.truncated {
            session.printer.say("this response is truncated: it is not the whole page");
        }
        let mut output = session.printer.raw()?;
        if self.headers {
            output.write_all(&head(&history, &capture)?).map_err(Error::Output)?;
        } else if self.raw {
            copy(&mut wire(&history, &capture)?, &mut output)?;
        } else {
            copy(&mut body(&history, &capture)?, &mut output)?;
        }
        output.flush().map_err(Error::Output)?;
        Ok(status)
    }
}

impl CatArgs {
    /// Reports that the page was gone, and which capture is printed instead.
    fn report_gone(&self, gone: &GonePage, printed: Option<&Capture>, printer: &mut Printer) {
        let GonePage { since, status, found_by, last } = gone;
        let (url, since) = (visible(&self.url), since.for_people());
        let by = found_by
            .as_ref()
            .map_or_else(String::new, |version| format!(" (version {})", short_version_id(version)));
        let how = match status {
            Some(status) => format!("gone since {since}, status {status}{by}"),
            None => format!("gone since {since}: it was left out{by}"),
        };
        let verb = if self.at.is_some() { "was" } else { "is" };
        match printed {
            Some(capture) if last.as_ref() == Some(capture) => {
                printer.warn(format_args!("`{url}` {verb} {how}; this is the page as it was before"));
            }
            Some(_) => printer.warn(format_args!("`{url}` {verb} {how}; this is that response")),
            None => printer.fail(format_args!("`{url}` {verb} {how}")),
        }
        let Some(last) = last.as_ref().filter(|last| printed != Some(*last)) else { return };
        let at = match last.owner {
            CaptureOwner::Version(version) => short_version_id(&version),
            CaptureOwner::Run(_) => last.time.to_string(),
        };
        printer.hint(&format!(
            "`varve cat {} --at {at}` prints it as it was on {}",
            self.url,
            last.time.for_people()
        ));
    }
}

/// Copies. A read error is one of the archive, a write error one of the output.
fn copy(input: &mut dyn io::Read, output: &mut dyn Write) -> Result<(), Error> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => output.write_all(&buffer[..count]).map_err(Error::Output)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(varve_archive::ArchiveError::Repository(RepositoryError::Body(
                    varve_archive::BodyError::new(source),
                ))
                .into());
            }
        }
    }
}
