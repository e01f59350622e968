//! The settings of an HTTP client.

use std::sync::Arc;

use varve_file::TemporaryFolder;

use crate::budget::ByteBudget;
use crate::cookies::CookieJar;
use crate::credentials::Credentials;
use crate::guard::AddressGuard;
use crate::limits::FetchLimits;
use crate::proxy::Proxies;
use crate::resolver::{Resolve, SystemResolver};

/// The settings of a client.
pub struct HttpClientOptions {
    /// The folder for responses too long for memory. Files in it have no name.
    pub spool_folder: TemporaryFolder,
    /// The `User-Agent`.
    pub user_agent: String,
    /// The limits of one exchange.
    pub limits: FetchLimits,
    /// The limit on all responses together, if there is one.
    pub budget: Option<ByteBudget>,
    /// Which addresses may be connected to.
    pub guard: AddressGuard,
    /// Headers for single origins.
    pub credentials: Credentials,
    /// The cookies. The client adds those that servers set.
    pub cookies: CookieJar,
    /// The proxies.
    pub proxies: Proxies,
    /// Root certificates to trust besides the platform's, as PEM.
    pub additional_roots: Option<Vec<u8>>,
    /// Idle connections kept for one origin.
    pub idle_per_origin: usize,
    /// The name resolver.
    pub resolver: Arc<dyn Resolve>,
}

impl HttpClientOptions {
    /// The defaults, with long responses in that folder.
    pub fn new(spool_folder: impl Into<TemporaryFolder>) -> Self {
        Self {
            spool_folder: spool_folder.into(),
            user_agent: user_agent(None),
            limits: FetchLimits::default(),
            budget: None,
            guard: AddressGuard::new(),
            credentials: Credentials::new(),
            cookies: CookieJar::new(),
            proxies: Proxies::default(),
            additional_roots: None,
            idle_per_origin: 16,
            resolver: Arc::new(SystemResolver),
        }
    }
}

/// The `User-Agent` of varve, with the contact address of its operator.
pub fn user_agent(contact: Option<&str>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match contact {
        Some(contact) => format!("varve/{version} (+{contact})"),
        None => format!("varve/{version} (+web archive, no contact given)"),
    }
}
