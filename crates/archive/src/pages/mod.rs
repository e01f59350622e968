//! Reading pages on request: what a page says now, said at an earlier time, and when that changed.
//!
//! [`PageService`] is the one way to an extraction, for the verbs and for the HTTP API. It answers
//! from the saved extraction of a page while that is valid. Otherwise it captures the page into the
//! archive as a version of its own, reads it, saves the extraction, and answers.
//!
//! | file | owns |
//! | --- | --- |
//! | `batch` | several URLs: what saved extractions answer, and what is fetched |
//! | `page_error`, `service_options`, `url_request` | values: why a page has no extraction, the options of a service, and the URL of a request |
//! | `live_page`, `host_turns` | a page of the live web: redirects, settings of domains, one request at a time per host |
//! | `save_page` | stores exchanges, their version, the extraction |
//! | `read_page` | from a response to a page object, or to the links of a feed |
//! | `unsaved_pages` | pages that are read without an archive |
//! | `past_pages` | extractions of earlier captures, which are not saved |
//! | `domain_settings` | which settings apply to a URL, and which are refused |
//!
//! The network is used without the lock of the archive. The lock is taken to save, and released at
//! once, so that other processes can write while a server waits for a page.

mod batch;
mod domain_settings;
mod host_turns;
mod live_page;
mod page_error;
mod page_service;
mod past_pages;
mod read_page;
mod save_page;
mod service_options;
mod unsaved_pages;
mod url_request;

pub use domain_settings::{DomainQuery, DomainSettingsError};
pub use page_error::PageError;
pub use page_service::PageService;
pub use past_pages::{FieldChange, PageChanges, selected};
pub use read_page::read_text;
pub use service_options::{MAX_BATCH_URLS, MAX_CONCURRENT_PAGES, OpenWriterOptions, PageServiceOptions};
pub use unsaved_pages::{fetch_unsaved, unsaved_feed_links};
pub use varve_core::history::{DomainSettings, FetchMethod, StoredDomainSettings};
pub use varve_extract::{ExtractOptions, ExtractedPage};
