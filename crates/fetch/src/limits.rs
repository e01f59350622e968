//! How much of anything a server may take.

use std::time::Duration;

/// The limits of one exchange. What goes past one is cut there and said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For the address, the connection, the proxy and the encryption together.
    pub connect: Duration,
    /// From the request to the first byte of an answer.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// For everything.
    pub total: Duration,
    /// Bytes of an answer, its head included.
    pub bytes: u64,
    /// Bytes of the head of an answer.
    pub head_bytes: usize,
    /// Lines of the head of an answer.
    pub head_lines: usize,
}

impl Default for Limits {
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
