//! `varve verify`: checks the log of an archive, or a proof without any archive.

use std::path::PathBuf;

use serde_json::json;
use varve_archive::verbs::seal::read_public_key;
use varve_archive::verbs::verify::{
    LogFinding, Report, Request, read_checkpoint, verify_archive, verify_file,
};

use crate::printer::{BAD_STYLE, Printer, counted, visible, with_fields};
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Verify sealed versions: an archive, or a proof file without the archive
///
/// In an archive, the whole log is checked: that its leaves are the versions and their manifests, that
/// every checkpoint has the root of its leaves, so that each continues the one before it, the signatures,
/// the timestamps, and the files in `seal`. `varve audit` checks the bodies of pages.
///
/// With files, each must be a proof as `varve seal prove` makes it, or a WARC file with a record that has
/// one, and no archive is read. In a WARC file, every capture must be one of the sealed versions: the ids of
/// their records follow from URL, date and content.
///
/// What an archive says about itself proves little. `--checkpoint` is a checkpoint that you got earlier or
/// from someone else: the log must continue it. `--key` is the public key that must have signed.
///
/// With `--json`, prints one object per finding, and last one with `summary`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve verify
  varve verify --checkpoint published.checkpoint --key museum.pub
  varve verify proof.json --key museum.pub

Exit codes:
  0    everything matches
  1    there are findings
  2    nothing could be verified")]
pub(super) struct VerifyArgs {
    /// Proofs, or WARC files with one; without any, the archive is verified
    files: Vec<PathBuf>,

    /// A signed checkpoint that the log must continue
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// The public key that must have signed, or a file with it
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for VerifyArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let checkpoint = self.checkpoint.as_deref().map(read_checkpoint).transpose()?;
        let key = self.key.as_deref().map(read_public_key).transpose()?;
        let request = Request { checkpoint, key };
        if self.files.is_empty() {
            return self.verify_archive(&request, session);
        }
        let mut findings = 0;
        for path in &self.files {
            let (printer, mut printed) = (&mut session.printer, Ok(()));
            let name = path.display().to_string();
            let report = verify_file(path, &request, &mut |finding| {
                if printed.is_ok() {
                    printed = self.print(&finding, Some(&name), printer);
                }
            })?;
            printed?;
            findings += report.findings;
            self.conclude(&report, Some(&name), &request, printer)?;
        }
        Ok(ExitStatus::of_findings(findings))
    }
}

impl VerifyArgs {
    fn verify_archive(&self, request: &Request, session: &mut Session) -> Result<ExitStatus, Error> {
        let archive = session.open_archive_reader()?;
        let printer = &mut session.printer;
        let bar = printer.progress(None, "versions");
        let mut printed = Ok(());
        let report = verify_archive(&archive, request, &|more| bar.inc(more), &mut |finding| {
            if printed.is_ok() {
                printed = self.print(&finding, None, printer);
            }
        });
        printer.end_progress();
        let report = report?;
        printed?;
        self.conclude(&report, None, request, printer)?;
        Ok(ExitStatus::of_findings(report.findings))
    }

    fn print(&self, finding: &LogFinding, file: Option<&str>, printer: &mut Printer) -> Result<(), Error> {
        if self.json {
            let about = file.map_or_else(|| json!({}), |file| json!({ "file": file }));
            return printer.json(&with_fields(about, finding));
        }
        printer.finding(BAD_STYLE, "error", &visible(&finding.message))
    }

    /// Prints the extent of the verification, and what the result does not show.
    fn conclude(
        &self,
        report: &Report,
        file: Option<&str>,
        request: &Request,
        printer: &mut Printer,
    ) -> Result<(), Error> {
        if self.json {
            let about = file.map_or_else(|| json!({}), |file| json!({ "file": file }));
            return printer.json_summary(&with_fields(about, report));
        }
        let mut checked =
            format!("{} of the log `{}`", counted(report.versions, "version"), visible(&report.origin));
        if file.is_none() {
            checked.push_str(&format!(", {}", counted(report.checkpoints, "checkpoint")));
        }
        if report.captures > 0 {
            checked.push_str(&format!(", {} of this file", counted(report.captures, "capture")));
        }
        printer.verification(report.findings, &checked)?;
        for stamp in &report.timestamps {
            let (size, time) = (counted(stamp.size, "version"), &stamp.time);
            printer.line(format_args!(
                "timestamp: {size} existed at {time}, says {}",
                visible(&stamp.authority)
            ))?;
        }
        if report.unsealed > 0 {
            printer.say(format_args!("{} not sealed yet: `varve seal`", counted(report.unsealed, "version")));
        }
        if request.key.is_none() {
            printer.hint("`--key` with the public key of the owner shows that the owner signed");
        }
        Ok(())
    }
}
