//! Roots of a plan whose URLs have private addresses, which a capture refuses unless they are
//! allowed.
//!
//! Only addresses in URLs are examined: what a name resolves to is known when it is requested.

use std::net::IpAddr;

use varve_core::url::RequestUrl;
use varve_fetch::AddressGuard;
use varve_plan::{Plan, Root};
use varve_repository::ArchivePaths;
use varve_repository::archive::read_settings;

use crate::error::ArchiveError;

/// A root with a private address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateRoot<'a> {
    /// The root.
    pub root: &'a Root,
    /// What its address is, such as `a loopback address`.
    pub kind: &'static str,
}

/// The roots whose URLs have private addresses that the settings of the archive do not allow.
pub fn private_roots<'a>(
    layout: &ArchivePaths,
    plan: &'a Plan,
) -> Result<Vec<PrivateRoot<'a>>, ArchiveError> {
    let mut guard = AddressGuard::new();
    if layout.is_archive() {
        // Settings are validated when they are read.
        read_settings(layout)?.allow_private.iter().for_each(|entry| _ = guard.allow(entry));
    }
    let refused = plan.roots.iter().filter_map(|root| {
        let url = RequestUrl::parse(&root.url)?;
        let address: IpAddr = url.host().trim_matches(['[', ']']).parse().ok()?;
        let kind = guard.check(url.host(), address).err()?;
        Some(PrivateRoot { root, kind })
    });
    Ok(refused.collect())
}
