//! What pages declare about URLs: the table `declarations`.

use rusqlite::{Connection, Row, params};
use varve_core::search_index::{DeclarationKind, UrlDeclaration};
use varve_sqlite::{SqlResult, UnlocatedError, collect_rows, execute, sql_limit};

const fn number(kind: DeclarationKind) -> i64 {
    match kind {
        DeclarationKind::Canonical => 0,
        DeclarationKind::Alternate => 1,
    }
}

pub(super) fn store(connection: &Connection, declaration: &UrlDeclaration) -> SqlResult<()> {
    let UrlDeclaration { page, kind, target } = declaration;
    let sql = "INSERT OR IGNORE INTO declarations (target, page, kind) VALUES (?1, ?2, ?3)";
    execute(connection, sql, params![target, page, number(*kind)])
}

/// The declarations about a URL.
pub(super) fn about(connection: &Connection, target: &str, limit: usize) -> SqlResult<Vec<UrlDeclaration>> {
    let sql = "SELECT page, kind, target FROM declarations WHERE target = ?1 ORDER BY page, kind LIMIT ?2";
    collect_rows(connection, sql, params![target, sql_limit(limit)], read)
}

/// The declarations of a page.
pub(super) fn of_page(connection: &Connection, page: &str) -> SqlResult<Vec<UrlDeclaration>> {
    let sql = "SELECT page, kind, target FROM declarations WHERE page = ?1 ORDER BY kind, target";
    collect_rows(connection, sql, [page], read)
}

fn read(row: &Row<'_>) -> SqlResult<UrlDeclaration> {
    let kind = match row.get(1)? {
        0 => DeclarationKind::Canonical,
        1 => DeclarationKind::Alternate,
        other => return Err(UnlocatedError::Damaged("declarations", format!("unknown kind {other}"))),
    };
    Ok(UrlDeclaration { page: row.get(0)?, kind, target: row.get(2)? })
}
