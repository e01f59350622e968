//! The limits of one exchange: times and sizes.

use std::time::Duration;

/// The limits of one exchange. A response that exceeds one is truncated and marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// Timeout for name resolution, connection, proxy and TLS together.
    pub connect: Duration,
    /// Timeout from the request to the first byte of the response.
    pub first_byte: Duration,
    /// Timeout between two reads of the response.
    pub idle: Duration,
    /// Timeout of the whole exchange.
    pub total: Duration,
    /// Maximum bytes of a response, its head included.
    pub bytes: u64,
    /// Maximum bytes of the head.
    pub head_bytes: usize,
    /// Maximum lines of the head.
    pub head_lines: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(3600),
            bytes: 16 << 30,
            head_bytes: 256 << 10,
            head_lines: 1000,
        }
    }
}
