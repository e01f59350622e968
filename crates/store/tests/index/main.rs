//! Tests of the whole index: against a model, with failures, damage, power cuts and concurrent
//! readers.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

mod crash;
mod damage;
mod extremes;
mod format;
mod model;
mod power;
mod readers;
mod scene;
