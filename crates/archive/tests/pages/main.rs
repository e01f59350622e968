//! Pages read on request: saved extractions, captures as evidence, and canonical URLs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod canonical;
mod saved;
mod scene;
