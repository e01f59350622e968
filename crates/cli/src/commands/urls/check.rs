//! `varve urls check`: holds the live web against what is expected of it.

use varve_archive::expectations::UrlsError;
use varve_archive::expectations::report::{ReportFormat, Reporter};
use varve_archive::verbs::urls::check::{Request, check};

use super::super::Outcome;
use super::{DatabasePlace, Which};
use crate::error::Error;
use crate::prober;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve urls check
  varve urls --db urldb check --domain example.com --map example.com=staging.example.com
  varve urls --db urldb check --format junit";

/// Check that URLs answer as expected
///
/// A URL that fails is asked again before it counts. The exit code is 1 if any is not as expected or cannot be reached.
///
/// With `--json` there is one object a URL: `url`, `verdict`, `status`, `expected`, `got`, `since`, `capture`,
/// `reason`; and a last one with the `summary`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    #[command(flatten)]
    which: Which,

    /// Ask another host for what is expected of the first; may be given again
    #[arg(long, value_name = "HOST=HOST", value_parser = mapping)]
    map: Vec<(String, String)>,

    /// Ask every alias of a domain as well
    #[arg(long)]
    cnames: bool,

    /// How often to ask again what failed
    #[arg(long, value_name = "N", default_value_t = 1)]
    retries: u32,

    /// The form of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json", "junit", "github"])]
    format: String,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

fn mapping(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => Err("two hosts with `=` between them: `example.com=localhost:8080`".to_owned()),
    }
}

impl Check {
    pub(super) fn run(self, place: &DatabasePlace, session: &mut Session) -> Result<Outcome, Error> {
        let database = place.open(session)?;
        let prober = prober::prober().ok_or(UrlsError::NoWeb)?;
        let mut reporter = Reporter::new(self.report_format());
        let request =
            Request { filter: self.which.into(), map: self.map, cnames: self.cnames, retries: self.retries };
        let printer = &mut session.printer;
        check(&database, &request, prober.as_ref(), |checked| printer.text(&reporter.add(&checked)))?;
        printer.text(&reporter.close())?;
        Ok(if reporter.summary().failures() > 0 { Outcome::Findings } else { Outcome::Done })
    }

    fn report_format(&self) -> ReportFormat {
        match self.format.as_str() {
            "json" => ReportFormat::Json,
            "junit" => ReportFormat::Junit,
            "github" => ReportFormat::Github,
            _ if self.json => ReportFormat::Json,
            _ => ReportFormat::Text,
        }
    }
}
