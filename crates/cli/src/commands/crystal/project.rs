//! `varve crystal new|migrate|save-as|property`: makes, migrates, copies and describes a project.

use std::cell::Cell;
use std::path::PathBuf;

use serde_json::json;
use varve_archive::verbs::crystal::MajorVersion;
use varve_archive::verbs::crystal::project::{
    Migrated, migrate, new, properties, property, save_as, set_property,
};
use varve_archive::verbs::crystal::verify::revisions_at_most;

use super::{ProjectPathArgs, say_opened};
use crate::printer::{counted, counted_bodies, human_size, visible};
use crate::verb::{Error, ExitStatus, Session};

/// Make an empty project, and print its folder
///
/// Adds `.crystalproj` to the name if it is missing. An existing file or folder is not changed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve crystal new museum.crystalproj
  varve crystal new museum --major-version 3")]
pub(super) struct CrystalNewArgs {
    /// The folder of the project
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Layout of bodies: 1 for one flat folder, 2 for a tree of folders, 3 for a tree of zips of 16 bodies each
    #[arg(long, value_name = "N", default_value = "2", value_parser = ["1", "2", "3"])]
    major_version: String,
}

fn version_called(number: &str) -> MajorVersion {
    match number {
        "1" => MajorVersion::Flat,
        "3" => MajorVersion::Packed,
        _ => MajorVersion::Tree,
    }
}

impl CrystalNewArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        session.require_writable()?;
        let folder = new(&self.path, version_called(&self.major_version))?;
        session.printer.line(folder.display())?;
        Ok(ExitStatus::Done)
    }
}

/// Store the bodies of a project in the layout of a later version
///
/// Migrates as Crystal does: from major version 1, a flat folder, to 2, a tree of folders, and with
/// `--major-version 3` on to zips of 16 bodies each, which Crystal 2.3 and later can open. If it is
/// interrupted, varve or Crystal continues when the project is next opened for writing. States in
/// which Crystal fails are completed. A project of a later version stays as it is. Nothing is
/// deleted: files that are not bodies are moved to the folder `salvage`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve crystal migrate museum.crystalproj
  varve crystal migrate museum.crystalproj --major-version 3
  varve -C museum.crystalproj crystal migrate --json")]
pub(super) struct CrystalMigrateArgs {
    #[command(flatten)]
    which: ProjectPathArgs,

    /// The version to migrate to
    #[arg(long, value_name = "N", default_value = "2", value_parser = ["2", "3"])]
    major_version: String,

    /// Print one JSON object: `from`, `to`, `moved`, `unreadable`
    #[arg(long)]
    json: bool,
}

impl CrystalMigrateArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        session.require_writable()?;
        let path = self.which.path(session)?;
        let printer = &mut session.printer;
        let bar = printer.progress(Some(revisions_at_most(&path)?), "bodies");
        let told = Cell::new(0);
        let migrated = migrate(&path, version_called(&self.major_version), &|moved, _| {
            bar.inc(moved.saturating_sub(told.replace(moved)));
        })?;
        say_opened(&migrated.opened, printer);
        if migrated.unreadable > 0 {
            let bodies = counted_bodies(migrated.unreadable);
            printer.warn(format_args!("{bodies} could not be read and stay outside the zips"));
        }
        let Migrated { from, to, moved, unreadable, .. } = &migrated;
        if self.json {
            printer.json(&json!({ "from": from, "to": to, "moved": moved, "unreadable": unreadable }))?;
        } else if migrated.from == migrated.to && migrated.opened.resumed_migration.is_some() {
            printer
                .line(format_args!("major version {}: the migration is complete", migrated.to.number()))?;
        } else if migrated.from == migrated.to && migrated.moved == 0 {
            printer.line(format_args!("nothing to do: major version {}", migrated.to.number()))?;
        } else {
            let moved = counted(migrated.moved, "file");
            printer.line(format_args!(
                "major version {} to {}: {moved} moved",
                migrated.from.number(),
                migrated.to.number()
            ))?;
        }
        Ok(ExitStatus::Done)
    }
}

/// Copy a project, completely or not at all
///
/// The copy is built as `….crystalproj-partial`, synced, and renamed. The original may be in use,
/// and may be on a read-only medium; its write-ahead log is merged in the copy. Where a migration
/// was torn so that Crystal cannot open the project, the copy is repaired.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve crystal save-as museum.crystalproj /backup/museum.crystalproj")]
pub(super) struct CrystalSaveAsArgs {
    /// The project
    #[arg(value_name = "SRC")]
    source: PathBuf,

    /// The folder of the copy; its name ends with `.crystalproj`
    #[arg(value_name = "DEST")]
    target: PathBuf,

    /// Print one JSON object: `path`, `files`, `bytes`
    #[arg(long)]
    json: bool,
}

impl CrystalSaveAsArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(None);
        let saved = save_as(&self.source, &self.target, &|bytes| bar.inc(bytes))?;
        if self.json {
            let path = saved.path.to_string_lossy();
            printer.json(&json!({ "path": path, "files": saved.files, "bytes": saved.bytes }))?;
        } else {
            let files = counted(saved.files, "file");
            printer.line(format_args!("{}: {files}, {}", saved.path.display(), human_size(saved.bytes)))?;
        }
        Ok(ExitStatus::Done)
    }
}

/// Show or set the properties of a project
///
/// Without a name, lists all properties. With a name, prints its value; the exit code is 1 if it is
/// not set. With a value, sets it. Properties about the layout of bodies cannot be set, and a
/// property that Crystal knows must have a value that Crystal can use. With `--json`, prints one
/// object per property: `name`, `value`.
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
        let path = self.project.clone().map_or_else(|| session.root(), Ok)?;
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
