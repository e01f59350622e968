//! The options of a service for pages.

use std::sync::Arc;
use std::time::Duration;

use varve_crawl::NetworkOptions;
use varve_extract::ExtractOptions;
use varve_repository::WriterOptions;

/// Maximum number of URLs in a batch.
pub const MAX_BATCH_URLS: usize = 1_000;

/// Maximum number of pages in flight.
pub const MAX_CONCURRENT_PAGES: usize = 16;

/// How long an extraction is an answer, unless settings say otherwise.
const DEFAULT_TTL: Duration = Duration::from_secs(30 * 86_400);
/// The time that a response may take.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The time that a process waits for the lock of the archive.
const DEFAULT_LOCK_WAIT: Duration = Duration::from_secs(30);
/// The pause between two requests to a host.
const DEFAULT_DELAY: Duration = Duration::from_millis(500);
/// Maximum size of a response, in bytes.
const DEFAULT_MAX_BYTES: u64 = 64 << 20;

/// Returns how the archive is opened to save a page. The caller names itself as the holder of the
/// lock.
pub type OpenWriterOptions = Arc<dyn Fn() -> WriterOptions + Send + Sync>;

/// The options of a service for pages.
#[derive(Clone)]
pub struct PageServiceOptions {
    /// The network options. Without a browser in them, no page is loaded in one.
    pub network: NetworkOptions,
    /// The `User-Agent`, unless the settings of a domain have another.
    pub user_agent: String,
    /// How long an extraction is an answer; `None` for the setting of the archive, or 30 days.
    pub ttl: Option<Duration>,
    /// The time that a response may take.
    pub timeout: Duration,
    /// Maximum size of a response, in bytes.
    pub max_bytes: u64,
    /// The pause between two requests to a host.
    pub delay: Duration,
    /// The forms of content to extract.
    pub extract: ExtractOptions,
    /// How the archive is opened to save; `None` if it may not be written.
    pub writer: Option<OpenWriterOptions>,
    /// How long to wait while another process writes.
    pub lock_wait: Duration,
    /// The author of the versions that requests make.
    pub author: Option<String>,
    /// Called after a version that could not be added to the search index.
    pub warn_of_index: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl PageServiceOptions {
    /// The default options.
    pub fn new(network: NetworkOptions, user_agent: String, writer: Option<OpenWriterOptions>) -> Self {
        Self {
            network,
            user_agent,
            ttl: None,
            timeout: DEFAULT_TIMEOUT,
            max_bytes: DEFAULT_MAX_BYTES,
            delay: DEFAULT_DELAY,
            extract: ExtractOptions::default(),
            writer,
            lock_wait: DEFAULT_LOCK_WAIT,
            author: None,
            warn_of_index: None,
        }
    }

    /// How long an extraction is an answer by default.
    pub(super) fn default_ttl() -> Duration {
        DEFAULT_TTL
    }
}
