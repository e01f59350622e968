//! The verbs, one file each, paired with the file of the same name in the command line.
//!
//! A verb takes plain values and returns plain values. It re-exports the types of lower crates that
//! it uses, so that a caller needs this crate alone.

pub mod audit;
pub mod audit_site;
mod audit_web_archive;
pub mod blame;
pub(crate) mod canonical_lookup;
pub mod capture;
pub mod cat;
pub mod check;
pub mod checkout;
pub mod commit;
pub mod crystal;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod doctor_package;
pub mod explain;
pub mod export;
pub mod filter;
pub mod fuzzy_lookup;
pub mod gc;
pub mod get;
pub mod gone_page;
pub mod housekeeping;
pub mod import;
pub mod init;
pub mod intent;
pub mod key;
pub mod log;
pub mod moku;
pub(crate) mod page_events;
pub mod plan;
pub mod proxy;
pub mod purge;
pub mod rebuild;
mod rebuild_losses;
pub mod replay;
pub mod score;
pub mod seal;
pub mod search;
pub mod show;
pub mod store;
pub mod stow;
pub mod tag;
pub mod train;
pub mod urls;
pub mod verify;
mod verify_warc;
pub mod version_membership;
