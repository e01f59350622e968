//! `varve crystal property`: shows and changes the properties of a project.

use std::path::PathBuf;

use serde_json::json;
use varve_archive::verbs::crystal::project::{properties, property, set_property};

use super::say_opened;
use crate::printer::visible;
use crate::verb::{Error, ExitStatus, Session};

/// Show or set the properties of a project
///
/// Without a name, lists all properties. With a name, prints its value; the exit code is 1 if it is
/// not set. With a value, sets it. Properties about the layout of bodies cannot be set. With
/// `--json`, prints one object per property: `name`, `value`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve -C museum.crystalproj crystal property
  varve -C museum.crystalproj crystal property default_url_prefix https://example.com
  varve -C museum.crystalproj crystal property entity_title_format --unset")]
pub(super) struct CrystalPropertyArgs {
    /// The property, such as `default_url_prefix`, `html_parser_type`, `entity_title_format`
    name: Option<String>,

    /// The new value
    #[arg(requires = "name")]
    value: Option<String>,

    /// Remove the property
    #[arg(long, requires = "name", conflicts_with = "value")]
    unset: bool,

    /// The project [default: the one of `-C`, or the nearest upwards]
    #[arg(long, value_name = "PATH")]
    project: Option<PathBuf>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl CrystalPropertyArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let path = match &self.project {
            Some(path) => path.clone(),
            None => session.root()?,
        };
        let Some(name) = &self.name else {
            for (name, value) in properties(&path)? {
                self.print(session, &name, value.as_deref())?;
            }
            return Ok(ExitStatus::Done);
        };
        if self.unset || self.value.is_some() {
            session.require_writable()?;
            let opened = set_property(&path, name, self.value.as_deref())?;
            say_opened(&opened, &mut session.printer);
            return Ok(ExitStatus::Done);
        }
        let Some(value) = property(&path, name)? else { return Ok(ExitStatus::Findings) };
        match self.json {
            true => self.print(session, name, Some(&value))?,
            false => session.printer.line(visible(&value))?,
        }
        Ok(ExitStatus::Done)
    }

    fn print(&self, session: &mut Session, name: &str, value: Option<&str>) -> Result<(), Error> {
        if self.json {
            return session.printer.json(&json!({ "name": name, "value": value }));
        }
        session.printer.line(visible(&format!("{name}  {}", value.unwrap_or_default())))
    }
}
