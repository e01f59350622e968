//! A web on loopback that misbehaves in every way a server can.
//!
//! [`Web::start`] serves everything below; a test asks for what it needs and then asks the web what
//! it was asked. [`Web::serve`] takes a [`Site`] of the test's own, to which the parts can be added
//! one by one.
//!
//! ```
//! use varve_testkit::web::Web;
//! let web = Web::start();
//! assert!(web.url("/").starts_with("http://127.0.0.1:"));
//! assert_eq!(web.count("/"), 0);
//! ```
//!
//! The site of people ([`Site::with_pages`]):
//!
//! | path | answer |
//! | --- | --- |
//! | `/` | a front page with a style sheet, a script, images and links to the pages below |
//! | `/about.html`, `/news/1.html` to `/news/3.html` | pages that link to each other |
//! | `/style.css`, `/print.css`, `/logo.png`, `/background.png`, `/script.js`, `/favicon.ico` | what pages embed |
//! | `/private/secret.html` | a page that `/robots.txt` forbids |
//! | `/robots.txt`, `/sitemap.xml`, `/feed.xml` | as they should be |
//! | `/site/N/I` | page I of a site of N pages, always the same bytes, all reachable from page 0 |
//!
//! Servers that change their mind ([`Site::with_moods`]):
//!
//! | path | answer |
//! | --- | --- |
//! | `/flaky/K/NAME` | closes without a word K times, then a page |
//! | `/busy/STATUS/K/S` | STATUS with `Retry-After: S` K times, then a page |
//! | `/cached` | a page with `ETag` and `Last-Modified`; 304 to a client that sends them |
//! | `/changing` | another page every time |
//! | `/redirect/loop`, `/redirect/pair/a`, `/redirect/chain/N`, `/redirect/away?to=URL` | redirects without and with an end |
//!
//! Servers that lie and break ([`Site::with_faults`]):
//!
//! | path | answer |
//! | --- | --- |
//! | `/slow/N` | N bytes, one every ten milliseconds |
//! | `/endless` | a body without length or end |
//! | `/length/short`, `/length/long` | declares a thousand bytes and sends ten; declares ten and sends a thousand |
//! | `/length/two`, `/length/negative` | two different lengths; a length below zero |
//! | `/chunks/good`, `/chunks/cut`, `/chunks/broken`, `/chunks/huge` | chunked as it should be; cut off; no number where one should be; a chunk of 2^63 bytes |
//! | `/headers/flood`, `/headers/long`, `/headers/endless` | ten thousand headers; one of a megabyte; headers without end |
//! | `/headers/folded`, `/headers/garbage` | an obsolete fold; lines that are no headers |
//! | `/reset` | a reset in the middle of the body |
//! | `/close`, `/silence`, `/garbage`, `/bare` | closes at once; never answers; answers no HTTP; answers without a head |
//! | `/early` | `100`, `102` and `103` before the answer |
//! | `/bomb/N` | N MiB of zeros, packed as gzip |
//! | `/gzip/good`, `/gzip/cut`, `/gzip/false` | gzip as it should be; cut off; declared and not so |
//! | `/charset/utf-16`, `/charset/wrong`, `/charset/none` | a page in UTF-16; one that declares UTF-8 and is Latin-1; one that says nothing |
//!
//! Places to get lost ([`Site::with_traps`]):
//!
//! | path | answer |
//! | --- | --- |
//! | `/trap/deeper/` | a page whose relative link adds a segment, for ever |
//! | `/trap/growing/` | the same three relative links under every path, which come in every order |
//! | `/trap/calendar/YEAR/MONTH` | a calendar without end |
//! | `/trap/session/…` | links with a new session each time |
//! | `/trap/filters?…` | a filter in every combination |
//! | `/trap/sitemap/N` | a sitemap index that names the next, for ever |
//! | `/trap/links` | links with control characters, bad ports, lone surrogates |
//! | `/trap/robots.txt` | a `robots.txt` of a megabyte; [`Site::with_huge_robots`] puts it where it counts |
//!
//! Threads and plain sockets: what a client sees should not depend on how a framework would have
//! put it.

mod answer;
mod connection;
mod faults;
mod generated;
mod moods;
mod pages;
mod request;
mod server;
mod site;
#[cfg(feature = "tls")]
mod tls;
mod traps;

pub use answer::{Answer, Then};
pub use connection::Connection;
pub use request::Request;
pub use server::{Seen, Web};
pub use site::Site;
#[cfg(feature = "tls")]
pub use tls::Certificate;
