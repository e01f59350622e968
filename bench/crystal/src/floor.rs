//! The same answers from SQLite and the file system, with nothing around them.

use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io;
use std::path::Path;

use crate::Outcome;
use crate::generate::body_path;
use varve_crystal::MajorVersion;

fn connect(path: &Path) -> Outcome<Connection> {
    Ok(Connection::open_with_flags(path.join("database.sqlite"), OpenFlags::SQLITE_OPEN_READ_ONLY)?)
}

pub fn open(path: &Path) -> Outcome<u64> {
    let sql = "SELECT value FROM project_property WHERE name = 'major_version'";
    let version: String = connect(path)?.query_row(sql, [], |row| row.get(0))?;
    Ok(version.parse()?)
}

pub fn cat(path: &Path, url: &str) -> Outcome<u64> {
    let sql =
        "SELECT max(v.id) FROM resource r JOIN resource_revision v ON v.resource_id = r.id WHERE r.url = ?1";
    let id: i64 = connect(path)?.query_row(sql, [url], |row| row.get(0))?;
    let name = body_path(MajorVersion::Tree, u64::try_from(id)?).ok_or("no place")?;
    Ok(io::copy(&mut File::open(path.join("revisions").join(name))?, &mut io::sink())?)
}

pub fn members(path: &Path) -> Outcome<u64> {
    let connection = connect(path)?;
    let sql = "SELECT url FROM resource WHERE url >= 'https://site.example/posts/' AND url < 'https://site.example/posts0'";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut members = 0;
    while let Some(row) = rows.next()? {
        let rest = row.get_ref(0)?.as_str()?.strip_prefix("https://site.example/posts/").unwrap_or_default();
        let is_member =
            rest.strip_suffix('/').is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()));
        members += u64::from(is_member);
    }
    Ok(members)
}

/// The bytes of all bodies, asking each for its length.
pub fn info(path: &Path) -> Outcome<u64> {
    let connection = connect(path)?;
    let mut statement =
        connection.prepare("SELECT id FROM resource_revision WHERE error = 'null' ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let name = body_path(MajorVersion::Tree, row.get::<_, i64>(0)?.try_into()?).ok_or("no place")?;
        bytes += path.join("revisions").join(name).symlink_metadata()?.len();
    }
    Ok(bytes)
}
