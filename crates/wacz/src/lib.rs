//! Read WACZ files, wherever their bytes are, and write them.
//!
//! This crate owns the container: the ZIP archive, `datapackage.json`, the lists of pages, and
//! packages that hold other packages. It reads versions 1.0 to 1.2 of the format and files without
//! `profile`. It knows nothing of WARC records: a stored WARC file is given as a [`SourceRange`], which
//! `varve-warc` reads in place.
//!
//! A package comes from a stranger. Names that climb are never opened, members that overlap are
//! refused, what a member inflates to is limited to the size that it declares, and the directory
//! and each JSON text have a maximum size. Damage is a [`ZipFinding`] with an offset. A file without
//! its directory, as a download that broke off, is read from its local headers.
//! [`mod@write`] makes packages of stored members in one pass.
//!
//! The crate `zip` was declined here: it reads through one position where readers of ranges need
//! many, reports no offsets, and opens nothing without a directory.

mod data_package;
mod error;
mod package;
mod pages;
mod signature;
mod source_range;
mod verify_package;
pub mod write;
pub mod zip;

pub use data_package::{DataPackage, PackageDigest, PackageProfile, PackageResource};
pub use error::WaczError;
pub use package::{MemberRole, Wacz, WaczBytes};
pub use pages::{PageEntry, PageList, PageListHeader, PageListItem};
pub use signature::{PackageSignature, PackageSigner};
pub use source_range::SourceRange;
pub use verify_package::verify_package;
pub use zip::{ZipArchive, ZipFinding, ZipMember, ZipRule};
