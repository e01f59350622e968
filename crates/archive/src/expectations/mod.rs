//! URL databases on disk: folders of domain files, read, edited and checked.
//!
//! This module contains the report formats of a check. It re-exports the interface to the live web
//! ([`Prober`]) from `varve-crawl`. The URL database and the judgement of responses come from
//! `varve-expect`.

pub mod report;

pub use varve_crawl::RunDescription;
pub use varve_crawl::{OnAnswer, ProbeFailure, ProbeRequest, ProbeResponse, Prober};
pub use varve_crawl::{ProbeOptions, RunClock, WebProber};
pub(crate) use varve_expect::of_host;
pub use varve_expect::{
    CheckOutcome, Departure, Domain, DomainFile, DomainFileError, DomainHead, Expectation, Follow, Loaded,
    Observed, PastCheck, Place, Redirect, Remark, Target, TargetError, UrlDatabase, UrlHealth, UrlsError,
    Verdict, health_after, judge, judge_redirect_end,
};
pub use varve_file::TemporaryFolder;
