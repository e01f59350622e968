//! Ids and times in columns. A value that is no id becomes an error that names table, column
//! position and value.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::Row;
use rusqlite::types::Value;
use uuid::Uuid;
use varve_core::id::IdError;
use varve_core::{BodyId, CaptureId, CheckId, ManifestDigest, Moment, RecordId, RunId, VersionId};

use crate::{SqlResult, UnlocatedError};

/// An id that a database stores as bytes.
pub trait BlobId: Sized {
    /// Makes the id from the bytes of a column. Returns `None` if their number is wrong.
    fn from_blob(bytes: &[u8]) -> Option<Self>;

    /// The bytes of a column.
    fn as_blob(&self) -> &[u8];
}

macro_rules! blob_ids {
    ($($id:ty: $make:expr;)*) => {
        $(impl BlobId for $id {
            fn from_blob(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map($make)
            }

            fn as_blob(&self) -> &[u8] {
                self.as_bytes()
            }
        })*
    };
}

blob_ids! {
    BodyId: BodyId::new;
    ManifestDigest: ManifestDigest::new;
    RecordId: RecordId::new;
    CaptureId: |bytes| CaptureId::new(Uuid::from_bytes(bytes));
    CheckId: |bytes| CheckId::new(Uuid::from_bytes(bytes));
    RunId: |bytes| RunId::new(Uuid::from_bytes(bytes));
    VersionId: |bytes| VersionId::new(Uuid::from_bytes(bytes));
}

/// How a database stores the ids of versions and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnIdForm {
    /// As bytes.
    Bytes,
    /// As text.
    Text,
}

impl ColumnIdForm {
    /// The value of a column for an id.
    pub fn value(self, id: &(impl BlobId + Display)) -> Value {
        match self {
            Self::Bytes => Value::Blob(id.as_blob().to_vec()),
            Self::Text => Value::Text(id.to_string()),
        }
    }

    /// Reads an id. `NULL` gives `None`.
    pub(crate) fn read<T: BlobId + FromStr<Err = IdError>>(
        self,
        row: &Row<'_>,
        column: usize,
        table: &'static str,
    ) -> SqlResult<Option<T>> {
        match self {
            Self::Bytes => blob_id(row, column, table),
            Self::Text => text_id(row, column, table),
        }
    }

    /// Reads an id that may not be `NULL`.
    pub(crate) fn read_required<T: BlobId + FromStr<Err = IdError>>(
        self,
        row: &Row<'_>,
        column: usize,
        table: &'static str,
    ) -> SqlResult<T> {
        self.read(row, column, table)?.ok_or_else(|| missing_id(column, table))
    }
}

/// The unit of the times in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Microseconds since 1970.
    Microseconds,
    /// Whole seconds since 1970.
    Seconds,
}

impl TimeUnit {
    /// The instant of a column.
    pub(crate) fn moment(self, value: i64) -> Moment {
        match self {
            Self::Microseconds => Moment::from_micros(value),
            Self::Seconds => Moment::from_seconds(value),
        }
    }

    /// The greatest value at or before an instant.
    pub fn at_or_before(self, moment: Moment) -> i64 {
        match self {
            Self::Microseconds => moment.micros(),
            Self::Seconds => moment.seconds(),
        }
    }

    /// The smallest value at or after an instant.
    pub fn at_or_after(self, moment: Moment) -> i64 {
        let before = self.at_or_before(moment);
        before + i64::from(self.moment(before) != moment)
    }
}

fn missing_id(column: usize, table: &'static str) -> UnlocatedError {
    UnlocatedError::Damaged(table, format!("column {}: the id is missing", column + 1))
}

/// Reads an id that is stored as bytes. `NULL` gives `None`.
pub fn blob_id<T: BlobId>(row: &Row<'_>, column: usize, table: &'static str) -> SqlResult<Option<T>> {
    let damaged = |what: String| UnlocatedError::Damaged(table, format!("column {}: {what}", column + 1));
    let Some(bytes) = row.get_ref(column)?.as_blob_or_null().map_err(|error| damaged(error.to_string()))?
    else {
        return Ok(None);
    };
    let id = T::from_blob(bytes);
    id.map(Some).ok_or_else(|| damaged(format!("an id cannot have {} bytes", bytes.len())))
}

/// Reads an id that is stored as bytes and may not be `NULL`.
pub fn required_blob_id<T: BlobId>(row: &Row<'_>, column: usize, table: &'static str) -> SqlResult<T> {
    blob_id(row, column, table)?.ok_or_else(|| missing_id(column, table))
}

/// Reads an id that is stored as text. `NULL` gives `None`.
pub fn text_id<T: FromStr<Err = IdError>>(
    row: &Row<'_>,
    column: usize,
    table: &'static str,
) -> SqlResult<Option<T>> {
    let parse = |text: String| {
        text.parse().map_err(|error| UnlocatedError::Damaged(table, format!("{text}: {error}")))
    };
    row.get::<_, Option<String>>(column)?.map(parse).transpose()
}
