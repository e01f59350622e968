//! Making a project that holds nothing yet.

use std::path::Path;

use super::{OpenOptions, ProjectWriter};
use crate::database;
use crate::disk::Watcher;
use crate::error::{Error, Result, database_at};
use crate::files::ensure_files;
use crate::location::{ResolvedPath, resolve};
use crate::partial_folder::Partial;
use crate::version::MajorVersion;

/// How to make a project.
pub struct CreateOptions {
    /// The layout of its bodies.
    pub version: MajorVersion,
    /// Sees each change to a file before it is made.
    pub watcher: Option<Watcher>,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self { version: MajorVersion::Tree, watcher: None }
    }
}

impl ProjectWriter {
    /// Makes a project and opens it. `.crystalproj` is added to a name that lacks it; what is there
    /// is refused.
    pub fn create(path: impl AsRef<Path>, options: CreateOptions) -> Result<Self> {
        Self::create_with(path.as_ref(), options, false)
    }

    /// Makes a project that is to be filled at once, and opens it. Nothing is durable before it is
    /// closed, which is many times faster: a crash may leave anything.
    pub fn create_to_fill(path: impl AsRef<Path>, options: CreateOptions) -> Result<Self> {
        Self::create_with(path.as_ref(), options, true)
    }

    fn create_with(path: &Path, options: CreateOptions, defers_syncs: bool) -> Result<Self> {
        let target = match resolve(path)? {
            ResolvedPath::Free(target) => target,
            ResolvedPath::There(path) => return Err(Error::Exists { path }),
        };
        let partial = Partial::begin(&target, options.watcher.clone())?;
        fill(&partial, options.version)?;
        let (layout, lock) = partial.finish()?;
        Self::open_locked(
            layout,
            lock,
            OpenOptions { watcher: options.watcher, defers_syncs, ..OpenOptions::default() },
        )
    }
}

fn fill(partial: &Partial, version: MajorVersion) -> Result<()> {
    let Partial { layout, disk, .. } = partial;
    disk.create_folder(&layout.revisions())?;
    disk.create_folder(&layout.tmp())?;
    ensure_files(disk, layout)?;
    let connection = database::create(&layout.dir, &layout.database())?;
    disk.before_commit(&layout.dir, "schema")?;
    database::schema::create(&connection, version).map_err(database_at(&layout.dir))?;
    let closed = connection.close().map_err(|(_, error)| error);
    closed.map_err(database_at(&layout.dir))
}
