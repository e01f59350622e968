//! The index as a whole: against a model, broken at every call, damaged at every bit, read while it changes.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

mod crash;
mod damage;
mod extremes;
mod format;
mod model;
mod power;
mod readers;
mod scene;
