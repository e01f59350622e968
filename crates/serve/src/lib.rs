//! Captures over HTTP: the web UI, the extraction API, the CDX API and replay.
//!
//! One process serves two origins. The first has the UI and the APIs; the second has archived pages
//! and nothing else, so that an archived script shares its origin with nothing of ours. Only the
//! extraction API writes, through the service that it is given; all else reads, also while another
//! process writes.
//!
//! Owns HTTP: routes, headers, security policies, HTML of the UI. `varve-archive` decides which
//! capture answers a request, `varve-page` rewrites bodies; this crate does not know how bodies are
//! stored.
//!
//! | layer | file |
//! | --- | --- |
//! | sockets, limits, shutdown | `server.rs`, `connection.rs` |
//! | one axum [`Router`](axum::Router) for each origin | `ui/mod.rs`, `replay/mod.rs` |
//! | the extraction API, and its tokens | `api/mod.rs`, `token.rs` |
//! | handlers, which may block and run on the blocking pool | `blocking.rs` |
//! | response bodies, streamed on demand | `body.rs` |
//! | replay through a proxy, which rewrites nothing | `museum/mod.rs` |

mod api;
mod app_state;
mod archive_failure;
mod blocking;
mod body;
mod cdx;
mod connection;
mod error_page;
mod formatting;
mod museum;
mod replay;
mod request;
mod request_guard;
mod response;
mod server;
pub mod token;
mod ui;

pub use museum::{MuseumHandler, MuseumServer, MuseumSettings, START_URL};
pub use server::{Origins, ServeError, ServeSettings, Server};
