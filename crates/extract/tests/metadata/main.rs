//! Metadata of whole pages: the pages of the public corpus, and hostile ones.

#![expect(clippy::unwrap_used, reason = "a test says by panicking that a fixture is not as expected")]

mod corpus;
