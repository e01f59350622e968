//! The live web, byte for byte.
//!
//! Owns the way from a URL to an exchange: finding the address, the guard in front of private ones, connections, encryption,
//! proxies, what is sent, and where an answer ends. Owns politeness: who may be asked when. Deliberately knows nothing of
//! storage, of the content of pages, or of what to fetch next: a redirect is an exchange like any other, and the caller
//! makes the next request.
//!
//! An answer is recorded as it was received and is never called whole when it may not be. Credentials leave no trace in
//! records.

#[cfg(unix)]
pub mod browser;
mod budget;
mod client;
mod compose;
mod connect;
mod credentials;
mod error;
mod fetcher;
mod gate;
pub mod guard;
mod http1;
mod http2;
mod limits;
pub mod politeness;
mod pool;
mod proxy;
mod resolve;
mod scheme;
mod spool;
mod stream;
mod target;
mod tls;

pub use budget::Budget;
pub use client::{Client, Options, user_agent};
pub use credentials::{Credentials, CredentialsError};
pub use error::{FetchError, FetchErrorKind};
pub use fetcher::{FetchRequest, Fetched, Fetcher, Pending, Rendering, RenderingKind};
pub use gate::{Admitted, Gate, Question, Turn};
pub use guard::Guard;
pub use limits::Limits;
pub use proxy::{Proxies, Proxy, ProxyError, ProxyText, ProxyTexts};
pub use resolve::{Resolve, SystemResolver};
pub use scheme::wants_tls;
pub use tls::RootsError;
