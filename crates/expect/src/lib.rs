//! The URL database: how URLs are expected to answer, and whether a response matches.
//!
//! A [`DomainFile`] is one file of a URL database: a [`Domain`] and its [`Expectation`]s, in YAML
//! that people edit and version control compares. [`judge()`] compares an [`Observed`] response
//! with an expectation and returns a [`Verdict`]; [`health_after`] combines the verdicts of many
//! checks.
//!
//! [`UrlDatabase`] is a folder of such files. All historic forms of a file are read and the present
//! one is written. This crate makes no requests: the caller passes the observed response.

mod database;
mod database_error;
mod document_stream;
mod domain;
mod error;
mod file;
mod judge;
mod line_end;
mod observed;
mod path;
mod read;
mod record;
mod url_health;
mod verdict;

pub use database::{DomainHead, Editing, Loaded, UrlDatabase, of_host};
pub use database_error::UrlsError;
pub use domain::Domain;
pub use error::DomainFileError;
pub use file::{DomainFile, Remark};
pub use judge::{Follow, judge, judge_redirect_end};
pub use line_end::LineEnd;
pub use observed::{Observed, Redirect};
pub use path::{Target, TargetError, stored_path};
pub use record::{CONTENT_TYPE_CHANGE_OK, DEPRECATED_CATEGORY, Expectation, REDIRECT_OK};
pub use url_health::{CheckOutcome, PastCheck, UrlHealth, health_after};
pub use varve_yaml::Place;
pub use verdict::{Departure, Verdict};
