//! Reads typed ids from columns. A value that is no id becomes an error that names table, column
//! position and value.

use std::str::FromStr;

use rusqlite::Row;
use uuid::Uuid;
use varve_core::id::IdError;
use varve_core::{BodyId, CaptureId, RecordId, RunId, VersionId};

use crate::UnlocatedError;

/// An id that a database stores as bytes.
pub trait BlobId: Sized {
    /// Makes the id from the bytes of a column. Returns `None` if their number is wrong.
    fn from_blob(bytes: &[u8]) -> Option<Self>;
}

macro_rules! blob_ids {
    ($($id:ty: $make:expr;)*) => {
        $(impl BlobId for $id {
            fn from_blob(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map($make)
            }
        })*
    };
}

blob_ids! {
    BodyId: BodyId::new;
    RecordId: RecordId::new;
    CaptureId: |bytes| CaptureId::new(Uuid::from_bytes(bytes));
    RunId: |bytes| RunId::new(Uuid::from_bytes(bytes));
    VersionId: |bytes| VersionId::new(Uuid::from_bytes(bytes));
}

/// Reads an id that is stored as bytes. `NULL` gives `None`.
pub fn blob_id<T: BlobId>(
    row: &Row<'_>,
    column: usize,
    table: &'static str,
) -> Result<Option<T>, UnlocatedError> {
    let damaged = |what: String| UnlocatedError::Damaged(table, format!("column {}: {what}", column + 1));
    let Some(bytes) = row.get_ref(column)?.as_blob_or_null().map_err(|error| damaged(error.to_string()))?
    else {
        return Ok(None);
    };
    let id = T::from_blob(bytes);
    id.map(Some).ok_or_else(|| damaged(format!("an id cannot have {} bytes", bytes.len())))
}

/// Reads an id that is stored as bytes and may not be `NULL`.
pub fn required_blob_id<T: BlobId>(
    row: &Row<'_>,
    column: usize,
    table: &'static str,
) -> Result<T, UnlocatedError> {
    let missing = || UnlocatedError::Damaged(table, format!("column {}: the id is missing", column + 1));
    blob_id(row, column, table)?.ok_or_else(missing)
}

/// Reads an id that is stored as text. `NULL` gives `None`.
pub fn text_id<T: FromStr<Err = IdError>>(
    row: &Row<'_>,
    column: usize,
    table: &'static str,
) -> Result<Option<T>, UnlocatedError> {
    let parse = |text: String| {
        text.parse().map_err(|error| UnlocatedError::Damaged(table, format!("{text}: {error}")))
    };
    row.get::<_, Option<String>>(column)?.map(parse).transpose()
}

/// Reads an id that is stored as text and may not be `NULL`.
pub fn required_text_id<T: FromStr<Err = IdError>>(
    row: &Row<'_>,
    column: usize,
    table: &'static str,
) -> Result<T, UnlocatedError> {
    let missing = || UnlocatedError::Damaged(table, format!("column {}: the id is missing", column + 1));
    text_id(row, column, table)?.ok_or_else(missing)
}
