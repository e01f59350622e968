//! Opening a project to read it.

use std::path::Path;

use super::Project;
use crate::body::BodyFolderCache;
use crate::database::mode::{OpenedDatabase, ProjectMedium, open_for_reading};
use crate::database::shape::Shape;
use crate::error::{Error, Result, database_at};
use crate::location::{ProjectLayout, ResolvedPath, resolve};
use crate::rows::property_name::MAJOR_VERSION;
use crate::version::{MajorVersion, VersionProblem};

impl Project {
    /// Opens a project to read it. Nothing in its folder is changed by us, however the project was
    /// left.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(path, ProjectMedium::default())
    }

    /// Opens a project on a medium that can be written, or cannot.
    pub fn open_on(path: impl AsRef<Path>, medium: ProjectMedium) -> Result<Self> {
        let layout = layout_at(path.as_ref())?;
        let opened = open_for_reading(&layout, medium)?;
        Self::from_opened(layout, opened)
    }

    pub(crate) fn from_opened(layout: ProjectLayout, opened: OpenedDatabase) -> Result<Self> {
        let OpenedDatabase { connection, reading, copy, frozen } = opened;
        let shape = Shape::learn(&connection, &layout.dir)?;
        let version = MajorVersion::Flat;
        let mut project = Self {
            connection,
            layout,
            shape,
            version,
            reading,
            folder_cache: BodyFolderCache::default(),
            frozen,
            _copy: copy,
        };
        project.version = project.read_version()?;
        Ok(project)
    }

    pub(crate) fn read_version(&self) -> Result<MajorVersion> {
        let path = || self.layout.dir.clone();
        if !self.has_property(MAJOR_VERSION)? {
            return Ok(MajorVersion::Flat);
        }
        let text = self.property(MAJOR_VERSION)?;
        match text.as_deref().map(MajorVersion::read) {
            Some(Ok(version)) => Ok(version),
            Some(Err(VersionProblem::TooNew(version))) => Err(Error::TooNew { path: path(), version }),
            Some(Err(VersionProblem::Unreadable)) | None => Err(Error::BadVersion { path: path(), text }),
        }
    }

    fn has_property(&self, name: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM project_property WHERE name = ?1";
        Ok(self.one(sql, [name], |_| Ok(()))?.is_some())
    }

    /// Learns the version again, after it may have changed.
    pub(crate) fn refresh(&mut self) -> Result<()> {
        self.shape = Shape::learn(&self.connection, &self.layout.dir)?;
        self.version = self.read_version()?;
        Ok(())
    }

    /// The names of what newer projects have and this one has not.
    pub(crate) fn lacking(&self) -> Result<Vec<&'static str>> {
        crate::database::schema::lacking(&self.connection).map_err(database_at(&self.layout.dir))
    }

    /// Compares every page of the database with itself, and gives what SQLite finds wrong, at most
    /// `most` things.
    pub(crate) fn check_database(&self, most: usize) -> Result<Vec<String>> {
        let failed = database_at(&self.layout.dir);
        let sql = format!("PRAGMA quick_check({most})");
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).map_err(&failed)?;
        let said: rusqlite::Result<Vec<String>> = rows.collect();
        Ok(said.map_err(&failed)?.into_iter().filter(|line| line != "ok").collect())
    }
}

/// The places of the project that a path means, if it is one.
pub(crate) fn layout_at(path: &Path) -> Result<ProjectLayout> {
    match resolve(path)? {
        ResolvedPath::There(dir) => {
            let layout = ProjectLayout::open(dir)?;
            layout.check()?;
            Ok(layout)
        }
        ResolvedPath::Free(path) => Err(Error::Absent { path }),
    }
}
