//! Name resolution. A trait, so that tests can return chosen addresses.

use std::io;
use std::net::SocketAddr;

use crate::fetcher::Pending;

/// Finds the addresses of a host. The result is used for one connection.
pub trait Resolve: Send + Sync {
    /// All addresses, in the order in which they should be tried.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Pending<'a, io::Result<Vec<SocketAddr>>>;
}

/// The resolver of the operating system.
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Pending<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}
