//! The live web, recorded byte for byte.
//!
//! Owns the way from a URL to an exchange: name resolution, the guard against private addresses,
//! connections, TLS, proxies, request bytes, and the end of a response. Owns politeness: when a
//! host may be asked. Does not know anything of storage, of the content of pages, or of what to
//! fetch next: a redirect is an exchange like any other, and the caller makes the next request.
//!
//! A response is recorded as it was received, and is marked as truncated when it may be incomplete.
//! Credentials leave no trace in records.

pub mod browser;
mod budget;
mod client;
mod client_options;
mod connect;
mod connection_pool;
mod cookies;
mod credentials;
mod error;
mod fetcher;
pub mod guard;
mod http1;
mod http2;
mod limits;
pub mod politeness;
mod proxy;
mod request_bytes;
mod request_gate;
mod request_target;
mod resolver;
mod response_spool;
mod response_tap;
mod tls;
mod tls_hint;
mod upgrade;

pub use budget::ByteBudget;
pub use client::Client;
pub use client_options::{HttpClientOptions, user_agent};
pub use cookies::{CookieFileError, CookieJar, sent_cookies};
pub use credentials::{Credentials, CredentialsError};
pub use error::{FetchError, FetchErrorKind};
pub use fetcher::{FetchRequest, Fetched, Fetcher, Pending, Rendering, RenderingKind};
pub use guard::AddressGuard;
pub use http1::ServerStream;
pub use limits::FetchLimits;
pub use proxy::{Proxies, ProxyError, ProxyText, ProxyTexts};
pub use request_gate::{GateDecision, PageRequest, RequestGate, RequestPermit};
pub use resolver::Resolve;
pub use response_tap::{ResponseTap, TappedResponse};
pub use tls::RootsError;
pub use tls_hint::wants_tls;
pub use upgrade::{UpgradeOutcome, UpgradedConnection};
