//! URL databases on disk: folders of domain files, read, edited and checked.
//!
//! Owns where the files lie and how one is replaced, the seam to the live web ([`Prober`]), and the forms in which the
//! verdicts of a check are reported. What a file says, and whether an answer keeps a promise, is `core`'s.

pub mod report;

pub use varve_crawl::RunDescription;
pub use varve_crawl::{OnAnswer, ProbeFailure, ProbeRequest, ProbeResponse, Prober};
pub use varve_crawl::{ProbeOptions, WebProber};
pub(crate) use varve_expect::of_host;
pub use varve_expect::{
    Departure, Domain, DomainFile, DomainFileError, Expectation, Follow, Loaded, Observed, Outcome, Redirect,
    Remark, Seen, Standing, Target, TargetError, UrlDatabase, UrlsError, Verdict, judge, standing,
};
