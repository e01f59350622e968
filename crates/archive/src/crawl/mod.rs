//! Crawling: from seeds to a version.
//!
//! One run is one version; one that is stopped is a version of what it got, and another run goes on with the rest. What a
//! run has still to do is in the frontier, what it has done is in the silos, and between
//! the two there are a few seconds at most: so a run may end at any instant, by any hand, and is resumed where it was,
//! with the same result.
//!
//! | file | knows |
//! | --- | --- |
//! | `address` | what is asked for, and what its spellings share |
//! | `scope`, `plan`, `errand`, `itinerary` | what is followed, how far, and for what reason |
//! | `run`, `admit`, `settle`, `checkpoint` | the thread that decides |
//! | `resting`, `given_up` | hosts that ask to be left alone, and hosts that do not answer |
//! | `robots`, `known`, `past`, `refused` | what hosts ask for, what was found, what is here already, what was not followed |
//! | `fetching`, `keeper`, `extract`, `backlog` | requests, and the work on answers |
//! | `rendering`, `door`, `denied`, `pace`, `memory`, `recall` | pages in a browser, what they may ask for, and what they need not ask for |
//! | `destination`, `project` | where answers go: into an archive, or into a Crystal project |
//! | `conduct`, `course` | a run from its beginning to its end, and across its stops |
//!
//! Nothing here knows a socket or a page: that is `varve-fetch` and `varve-page`. Nor is a terminal known: whoever
//! watches is told [`Event`]s.

mod address;
mod admit;
mod backlog;
mod checkpoint;
mod conduct;
mod course;
mod denied;
mod destination;
mod door;
mod errand;
mod event;
mod extract;
mod fetching;
mod given_up;
mod itinerary;
mod keeper;
mod known;
mod memory;
mod pace;
mod past;
mod plan;
mod project;
mod recall;
mod refused;
mod rendering;
mod resting;
mod robots;
mod run;
mod scope;
mod settings;
mod settle;
mod task;

pub(crate) use address::{asked, has_user_info, host_of, origin_of};
pub(crate) use conduct::{Conduct, NewVersion, Work, begin, finish, resume, version_of_run, work};
pub(crate) use door::Door;
pub use event::{Captured, Ended, Event, Progress, Tally};
pub(crate) use fetching::Fetchers;
pub(crate) use fetching::outcome;
pub(crate) use itinerary::Itinerary;
pub(crate) use pace::{Pace, Paced};
pub(crate) use plan::Plan as CrawlPlan;
pub(crate) use project::{AsCrystalAsks, IntoProject, OpenProject};
pub(crate) use robots::limits as limits_for_robots;
pub(crate) use run::Ending;
pub use scope::{Rule, ScopeKind};
pub use settings::Settings;
pub(crate) use settle::sentence;
