//! `varve crystal property`: what is set in a project.

use std::path::PathBuf;

use serde_json::json;
use varve_archive::verbs::crystal::property::{get, list, set};

use super::super::Outcome;
use super::say_opened;
use crate::error::Error;
use crate::printer::visible;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve -C museum.crystalproj crystal property
  varve -C museum.crystalproj crystal property default_url_prefix https://example.com
  varve -C museum.crystalproj crystal property entity_title_format --unset";

/// Show what is set in a project, or set it
///
/// Without a name all properties are listed. With a name its value is printed; the exit code is 1 if it is not set. With a
/// value it is set. Those that say how bodies lie are not set by hand. With `--json` there is one object a property: `name`,
/// `value`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Property {
    /// The property, such as `default_url_prefix`, `html_parser_type`, `entity_title_format`
    name: Option<String>,

    /// What it is set to
    #[arg(requires = "name")]
    value: Option<String>,

    /// Remove it
    #[arg(long, requires = "name", conflicts_with = "value")]
    unset: bool,

    /// The project; without it, the one named by `-C` or the nearest upwards
    #[arg(long, value_name = "PATH")]
    project: Option<PathBuf>,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Property {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let path = match &self.project {
            Some(path) => path.clone(),
            None => session.root()?,
        };
        let Some(name) = &self.name else {
            for (name, value) in list(&path)? {
                self.print(session, &name, value.as_deref())?;
            }
            return Ok(Outcome::Done);
        };
        if self.unset || self.value.is_some() {
            session.must_write()?;
            let opened = set(&path, name, self.value.as_deref())?;
            say_opened(&opened, &mut session.printer);
            return Ok(Outcome::Done);
        }
        let Some(value) = get(&path, name)? else { return Ok(Outcome::Findings) };
        match self.json {
            true => self.print(session, name, Some(&value))?,
            false => session.printer.line(visible(&value))?,
        }
        Ok(Outcome::Done)
    }

    fn print(&self, session: &mut Session, name: &str, value: Option<&str>) -> Result<(), Error> {
        if self.json {
            return session.printer.json(&json!({ "name": name, "value": value }));
        }
        session.printer.line(visible(&format!("{name}  {}", value.unwrap_or_default())))
    }
}
