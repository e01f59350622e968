//! Records what passes the proxy: every exchange of a browser or program becomes part of one version.
//!
//! | file | owns |
//! | --- | --- |
//! | `live_handler` | a request of a client: made on the live web, answered while it is stored |
//! | `forwarded_request` | which headers and bodies are sent, and which of them are recorded |
//! | `client_response` | the response for the client, made of the bytes that are recorded |
//! | `web_socket`, `frame_log` | connections that become web sockets, and the record of their frames |
//! | `recorded_urls` | which exchange is the capture of its URL |
//! | `recorder` | the thread that stores, makes durable, and makes the version |
//!
//! It shares client, address guard and records with capture. It decides nothing about what is
//! requested: the user does.

mod client_response;
mod forwarded_request;
mod frame_log;
mod live_handler;
mod recorded_urls;
mod recorder;
mod web_socket;

pub(crate) use live_handler::{LiveHandler, RecordingActivity};
pub(crate) use recorded_urls::RecordedUrls;
pub(crate) use recorder::{ExchangeRecorder, RecordJob, RecordingEnd};
