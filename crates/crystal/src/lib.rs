//! Crystal projects (`.crystalproj`), whole: read, written, created, migrated, verified and copied, without the
//! program that made them.
//!
//! Owns the folder and everything in it: the database, the bodies beside it in any of three layouts, the files
//! around them. Deliberately knows no silo, no catalog of varve's, no network, no clock and no terminal: what was
//! downloaded is handed in, the time with it, and what is said is data. The rules of URLs, patterns and aliases are
//! `varve_core`'s. The words are Crystal's own, to be translated at this crate's door: a *resource* is a URL, a
//! *revision* is one download of it, a *body* is the bytes that it gave.
//!
//! # Reading
//!
//! [`Project::open`] costs the same for a project of any size, whatever state it was left in, and changes nothing.
//! Rows come as [`Stream`]s, a page at a time, so that memory does not grow with the project.
//!
//! | question | answer |
//! | --- | --- |
//! | is this a project? which one is meant? | [`is_project`], [`resolve`] |
//! | what does this URL mean here? | [`Project::find`]: a resource, a URL outside, or nothing yet |
//! | which URLs are there? | [`Project::resources`], [`Project::resources_under`] a prefix |
//! | its downloads, the newest first | [`Project::revisions_of`] |
//! | the one to show | [`Project::default_revision`] with a [`Choice`], [`Project::resolve`] for a 304 |
//! | the one a session need not download again | [`Project::fresh_revision`], [`Project::if_none_match`] |
//! | status and headers, or the error | [`Revision::metadata`], [`Revision::download_error`] |
//! | its bytes | [`Project::body_of`]: a reader with its length, or that it is missing, and from where |
//! | what people want downloaded | [`Project::roots`], [`Project::groups`], [`Project::aliases`] |
//! | which group should this page be in? | [`suggest_sequence`], [`suggest_pattern`], [`Project::suggest_source`] |
//! | what belongs to a group | [`Project::members`], by a range of the index and the matcher |
//! | settings | [`Project::property`] and its typed sisters |
//! | how much of everything | [`Project::info`], [`Project::group_infos`] |
//! | is it all as it should be? | [`Project::verify`], with [`Finding`]s as data |
//! | a copy | [`Project::save_as`]: whole, or not there |
//!
//! # Writing
//!
//! [`ProjectWriter`] holds a lock against other writers of ours, and refuses a project that Crystal has open. When
//! it opens a project, it first puts in order what an earlier program left: an older schema, missing files, an
//! unfinished migration, a revision whose body never came ([`ProjectWriter::report`] says what it did).
//!
//! A revision is kept with its body, or not at all:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let path = home.path().join("museum.crystalproj");
//! use std::io::{Read, Write};
//! use varve_crystal::{BodyLookup, Choice, Lookup, NewRevision, Outcome, Project, ProjectWriter};
//!
//! let mut writer = ProjectWriter::create(&path, Default::default())?;
//! let root = writer.add_root("Home", "https://example.com")?;
//! let mut body = writer.begin_body()?;
//! body.write_all(b"hello")?;
//! let outcome = Outcome::Fetched { metadata: None, body };
//! writer.add_revision(NewRevision { id: None, resource: root.resource, request_cookie: None, outcome })?;
//! writer.close()?;
//!
//! let project = Project::open(&path)?;
//! let Lookup::Resource(page) = project.find("HTTPS://EXAMPLE.com/#top")? else { panic!("not kept") };
//! let newest = project.default_revision(page.id, Choice::Newest)?.expect("it was downloaded");
//! let BodyLookup::Found(mut body) = project.body_of(&newest)? else { panic!("lost") };
//! let mut text = String::new();
//! body.read_to_string(&mut text)?;
//! assert_eq!(text, "hello");
//! # Ok(())
//! # }
//! ```
//!
//! Roots, groups, aliases and properties are changed by the methods of [`ProjectWriter`] named for it; rows of
//! another project are put back as they were by its `restore_…` methods. [`ProjectWriter::migrate`] moves bodies
//! from the flat folder into the tree, and [`ProjectWriter::repair`] mends what `verify` finds.
//!
//! # What is never done
//!
//! No body is deleted but by [`ProjectWriter::delete_revision`] and [`ProjectWriter::delete_resource`]: what no row
//! claims is moved to the folder `salvage`. No link inside a project is followed. No cookie is shown. `user_version`
//! is not used, since Crystal resets it. No file that Crystal knows is given a meaning that it does not have there.

mod body;
mod database;
mod disk;
mod edit;
mod error;
mod files;
mod identity;
mod ids;
mod info;
mod location;
mod lock;
mod migrate;
mod partial;
mod project;
mod revision;
mod room;
mod rows;
mod salvage;
mod save_as;
mod suggest;
mod verify;
mod version;

pub use body::{Body, BodyDraft, BodyLookup, LARGEST_TREE_ID, PackError, flat_name, pack_path, tree_path};
pub use database::mode::{Medium, Reading};
pub use database::schema::Upgraded;
pub use database::stream::Stream;
pub use disk::{Step, Watcher};
pub use edit::{NewGroup, NewRevision, Outcome};
pub use error::{Error, Refusal, Result};
pub use identity::{EXTERNAL_MARKER, Lookup, directory_prefix, domain_prefix};
pub use ids::{AliasId, GroupId, ResourceId, RevisionId, RootId};
pub use info::{GroupInfo, Info};
pub use location::{
    CAPTURE_FOLDER, OPENER_SUFFIX, PARTIAL_SUFFIX, PROJECT_SUFFIX, Resolved, is_project, resolve,
};
pub use migrate::{OnProgress, Progress};
pub use project::{CreateOptions, OpenOptions, OpenReport, Opened, Project, ProjectWriter};
pub use revision::{Choice, DownloadError, JsonProblem, Metadata, ResolvedRevision, Session};
pub use room::Room;
pub use rows::{
    Alias, ColumnProblem, EntityTitleFormat, Group, GroupProgress, HibernatedState, HibernatedTask,
    HtmlParser, Resource, Revision, Root, RowError, Source, property_name,
};
pub use save_as::{CopyProgress, SaveAsOptions};
pub use varve_core::pattern::{suggest_pattern, suggest_sequence};
pub use verify::{Finding, Repair, Repaired, Severity, Verified, VerifyOptions};
pub use version::MajorVersion;
