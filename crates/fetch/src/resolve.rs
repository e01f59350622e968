//! From names to addresses: a seam, so that a test can be a resolver that lies.

use std::io;
use std::net::SocketAddr;

use crate::fetcher::Pending;

/// Finds the addresses of a host. What it answers is used once, for the connection it was asked for.
pub trait Resolve: Send + Sync {
    /// All addresses, in the order in which they should be tried.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Pending<'a, io::Result<Vec<SocketAddr>>>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Pending<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}
