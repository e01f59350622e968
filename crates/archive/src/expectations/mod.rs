//! URL databases on disk: folders of domain files, read, edited and checked.
//!
//! Owns where the files lie and how one is replaced, the seam to the live web ([`Prober`]), and the forms in which the
//! verdicts of a check are reported. What a file says, and whether an answer keeps a promise, is `core`'s.

mod database;
mod error;
mod prober;
pub mod report;
mod save;

pub use crate::etiquette::Etiquette;
pub use crate::probe::{Asking, WebProber};
pub(crate) use database::of_host;
pub use database::{Loaded, UrlDatabase};
pub use error::UrlsError;
pub use prober::{Answer, OnAnswer, Prober, Question, Trouble};
pub(crate) use save::replace;
pub use varve_core::expectation::{
    Departure, Domain, DomainFile, DomainFileError, Expectation, Follow, Observed, Outcome, Redirect, Remark,
    Seen, Standing, Target, TargetError, Verdict, judge, standing,
};
