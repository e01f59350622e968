//! Indexes of WARC files, as other programs write and read them.
//!
//! An index says for each capture of a URL in which file it is, at which offset and how long its
//! record is. This crate owns the lines of an index as values ([`CdxEntry`]), the three formats of
//! such lines, and the way from a WARC or ARC file to its lines:
//!
//! | format | a line |
//! | --- | --- |
//! | CDXJ | key, time, JSON object |
//! | CDX | columns, named by the first line; 9 and 11 of them are usual |
//! | ZipNum | blocks of CDXJ or CDX lines in gzip members, and a summary with a line for each block |
//!
//! Keys are those of `varve_core::url::surt` in the flavour of the Internet Archive, which most
//! indexes have. Parsers are total: any bytes give an entry or an error with the number of the line.
//! Reading and sorting take a fixed amount of memory for an index of any length.
//!
//! It does not know archives, catalogs or where files are. An index is a hint: a reader that follows one
//! compares the record with it.

mod cdxj;
mod columns;
mod entry;
mod index_file;
mod json_text;
mod multipart;
mod read_lines;
mod request_key;
mod sort_lines;
mod zipnum;

pub use columns::CdxColumns;
pub use entry::{CdxEntry, CdxEntryError};
pub use index_file::{IndexedFile, IndexingOptions, RecordIndexer, index_file};
pub use read_lines::{CdxFileReader, CdxReadError};
pub use request_key::{MAX_REQUEST_BODY_BYTES, request_key_url, request_query};
pub use sort_lines::{LineSorter, SortedLines};
pub use zipnum::{LINES_PER_BLOCK, ZipNumBlock, ZipNumStyle, ZipNumSummaryLine, ZipNumWriter, ZipNumWritten};
