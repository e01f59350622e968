//! What holds for any bytes.
//!
//! Each function takes bytes from nowhere and asserts laws about what the `warc` crate makes of them; that it returns at
//! all is the first law. They stand here once and are called twice: by libFuzzer (`fuzz_targets/`), for hours, and by the
//! crate's own tests with a generator of a fixed seed, for seconds.

mod archive;
mod http;
mod text;

pub(crate) use archive::{arc, repair, warc, zstd_dictionary};
pub(crate) use http::{chunked, message};
pub(crate) use text::text;
