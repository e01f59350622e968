//! What varve does, verb by verb, for a program to call.
//!
//! Owns composition: which room is asked what, and in which order. It holds few rules of its own; those of URLs are
//! in `varve-core`. Deliberately it knows no terminal and reads neither the environment nor the current folder nor
//! the clock: whoever calls it says what it needs. It prints nothing, asks nothing and decides no exit code.
//! Findings are returned as data, failures as typed errors.

pub mod verbs;
