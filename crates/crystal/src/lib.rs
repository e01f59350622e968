//! Crystal projects (`.crystalproj`): reads, writes, creates, migrates, verifies and copies them.
//!
//! Owns the folder and everything in it: the database, the bodies beside it in any of three
//! layouts, and the other files. Does not know silos, varve's catalog, the network, the clock or
//! terminals: the caller hands in downloads with their time, and reports are data. The rules of
//! patterns and aliases are in `varve_core`, because plans use them too. The words are Crystal's,
//! and callers translate them: a *resource* is a URL, a *revision* is one download of it, a *body*
//! is its bytes.
//!
//! | part | module |
//! | --- | --- |
//! | reader: rows, bodies, lookups | `project`, `rows`, `revision`, `body` |
//! | the texts under which a URL may be stored | `url_alternatives` |
//! | editor: transactions, new bodies, recovery | `writer` |
//! | packs of sixteen bodies | `packing` |
//! | migration to a later version | `migrate` |
//! | checks and repairs, copies | `verify`, `save_as` |
//!
//! # Reading
//!
//! [`Project::open`] costs the same for a project of any size and in any state, and changes
//! nothing. Rows come as [`RowStream`]s that read a batch at a time, so that memory does not grow
//! with the project.
//!
//! | task | use |
//! | --- | --- |
//! | find a project | [`is_project`], [`resolve`] |
//! | look up a URL | [`Project::find`]: a resource, a URL outside, or nothing yet |
//! | all URLs | [`Project::resources`], [`Project::resources_under_after`] a prefix |
//! | its downloads, newest first | [`Project::revisions_of`] |
//! | the download to show | [`Project::default_revision`] with a [`CaptureChoice`], [`Project::resolve`] for a 304 |
//! | the ETags to send | [`Project::if_none_match`] |
//! | status and headers, or the error | [`Revision::metadata`], [`Revision::download_error`] |
//! | failed downloads, or by status | [`Project::search_revisions`] |
//! | its bytes | [`Project::body_of`]: a reader with its length, or the path of the missing file |
//! | what to download | [`Project::roots`], [`Project::groups`], [`Project::aliases`] |
//! | the members of a group | [`Project::members`], [`Project::members_with_state`] |
//! | settings | [`Project::property`] and its typed variants |
//! | counts | [`Project::info`], [`Project::group_infos`] |
//! | check a project | [`Project::verify`], with [`ProjectFinding`]s as data |
//! | copy a project | [`Project::save_as`] |
//!
//! # Writing
//!
//! [`ProjectWriter`] holds a lock against other varve writers, and refuses a project that Crystal
//! has open. Opening a project repairs what an earlier program left: an older schema, missing
//! files, an unfinished migration, a revision without its body. [`ProjectWriter::report`] returns
//! what it did.
//!
//! A revision is stored with its body, or not at all:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let path = home.path().join("museum.crystalproj");
//! use std::io::{Read, Write};
//! use varve_crystal::{BodyLookup, CaptureChoice, DownloadOutcome, NewRevision, Project, ProjectWriter, UrlLookup};
//!
//! let mut writer = ProjectWriter::create(&path, Default::default())?;
//! let root = writer.add_root("Home", "https://example.com")?;
//! let mut body = writer.begin_body()?;
//! body.write_all(b"hello")?;
//! let outcome = DownloadOutcome::Fetched { metadata: None, body };
//! writer.add_revision(NewRevision { id: None, resource: root.resource, request_cookie: None, outcome })?;
//! writer.close()?;
//!
//! let project = Project::open(&path)?;
//! let UrlLookup::Resource(page) = project.find("HTTPS://EXAMPLE.com/#top")? else { panic!("not kept") };
//! let newest = project.default_revision(page.id, CaptureChoice::Newest)?.expect("it was downloaded");
//! let BodyLookup::Found(mut body) = project.body_of(&newest)? else { panic!("lost") };
//! let mut text = String::new();
//! body.read_to_string(&mut text)?;
//! assert_eq!(text, "hello");
//! # Ok(())
//! # }
//! ```
//!
//! The methods of [`ProjectWriter`] change roots, groups, aliases and properties; its `restore_…`
//! methods insert rows of another project unchanged. [`ProjectWriter::migrate`] moves bodies from
//! the flat folder into the tree, or packs them, and [`ProjectWriter::repair`] repairs what `verify` finds.
//!
//! # Guarantees
//!
//! Nothing deletes bodies: a file without a row is moved to the folder `salvage`. Symbolic links
//! inside a project are not followed. Cookies are not shown. `user_version` is not used, because
//! Crystal resets it. No file of Crystal gets another meaning.

mod body;
mod database;
mod disk;
mod error;
mod files;
mod format_error;
mod ids;
mod location;
mod lock;
mod migrate;
mod packing;
mod partial_folder;
mod project;
mod revision;
mod rows;
mod salvage;
mod save_as;
mod sparse_copy;
mod url_alternatives;
mod url_prefix;
mod verify;
mod version;
mod writer;

pub use body::{BodyDraft, BodyLookup, MAX_TREE_ID, RevisionBody, flat_name, pack_path, tree_path};
pub use database::mode::{DatabaseReadMode, ProjectMedium};
pub use database::schema::Upgraded;
pub use database::stream::RowStream;
pub use disk::{DiskStep, Watcher};
pub use error::{ChangeRefusal, Error, Result};
pub use format_error::{BodyPackError, ColumnProblem, JsonProblem, RowError};
pub use ids::{AliasId, GroupId, ResourceId, RevisionId, RootId};
pub use location::{
    CAPTURE_FOLDER, DRAFT_FOLDER, OPENER_SUFFIX, PARTIAL_SUFFIX, PROJECT_SUFFIX, ResolvedPath, is_project,
    resolve,
};
pub use migrate::{MigrationProgress, MigrationStage, MigrationSummary, OnProgress, PendingMigration};
pub use project::{
    GroupInfo, Project, ProjectInfo, ResolvedRevision, ResourceState, RevisionSearch, UrlLookup,
};
pub use revision::{DownloadError, ResponseMetadata};
pub use rows::{
    GroupProgress, GroupSource, HibernatedState, HibernatedTask, ProjectAlias, Resource, ResourceGroup,
    Revision, RootResource, property_name,
};
pub use save_as::{CopyProgress, SaveAsOptions};
pub use url_alternatives::{KnownSite, SiteRule, SiteRules, UrlAlternatives, ValueClass, url_alternatives};
pub use url_prefix::domain_prefix;
pub use varve_core::history::CaptureChoice;
pub use verify::{
    FindingRepair, FindingSeverity, ProjectFinding, RepairSummary, VerifyOptions, VerifySummary,
};
pub use version::MajorVersion;
pub use writer::{
    CreateOptions, DownloadOutcome, FreeSpace, NewGroup, NewRevision, OpenOptions, OpenReport, OpenedProject,
    ProjectWriter,
};
