//! Network access of a process: the HTTP client with its address guard, credentials, proxies and
//! certificates.
//!
//! Everything that fetches uses this module, so that one place decides which addresses may be
//! reached and which headers are sent. The options belong to the process. The part that a run saves
//! for its resumption is in [`saved`].

mod saved;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use varve_repository::RepositoryError;

use varve_core::url::RequestUrl;
use varve_fetch::{
    AddressGuard, ByteBudget, Client, CookieJar, Credentials, CredentialsError, FetchLimits,
    HttpClientOptions, Proxies, ProxyTexts,
};

use crate::error::CrawlError;
use varve_file::TemporaryFolder;
use varve_repository::archive::read_settings;
use varve_repository::archive_paths::ArchivePaths;

pub use saved::{SavedNetworkOptions, SecretName};

/// The network options of the process that fetches.
#[derive(Clone, Debug, Default)]
pub struct NetworkOptions {
    /// Whether requests to private addresses are allowed.
    pub allow_private: bool,
    /// Private hosts, addresses and networks to which requests are allowed.
    pub allow: Vec<String>,
    /// Lines of credentials: `HOST NAME: VALUE`.
    pub credentials: String,
    /// The file of cookies, in the Netscape format, that the run begins with.
    pub cookies: Option<PathBuf>,
    /// Headers for the origins of the seeds only: `NAME: VALUE`.
    pub headers: Vec<String>,
    /// The proxies that requests go through.
    pub proxies: ProxyTexts,
    /// Whether the proxies may be given private names: they decide which names are private.
    pub proxy_resolves: bool,
    /// The PEM file of certificates to trust in addition to those of the platform.
    pub certificates: Option<PathBuf>,
    /// The path of Chromium, for pages that are loaded in a browser.
    pub browser: Option<PathBuf>,
    /// Whether a run may be resumed without the headers and credentials that it was begun with.
    pub without_credentials: bool,
}

/// The options of one HTTP client.
pub struct ClientOptions<'a> {
    /// The directory for long responses.
    pub temporary: &'a TemporaryFolder,
    /// The `User-Agent`.
    pub user_agent: &'a str,
    /// The limits of one response.
    pub limits: FetchLimits,
    /// The limit of all responses together, if there is one.
    pub budget: Option<ByteBudget>,
    /// The number of idle connections that are kept for one origin.
    pub per_host: usize,
    /// The seeds: [`NetworkOptions::headers`] are sent to their origins.
    pub seeds: &'a [String],
}

/// The contact address for site owners from the `varve.toml` in that folder, if there is one.
pub fn contact_in(layout: &ArchivePaths) -> Result<Option<String>, CrawlError> {
    if layout.is_archive() { Ok(read_settings(layout)?.contact) } else { Ok(None) }
}

impl NetworkOptions {
    /// Adds the private addresses that the `varve.toml` in that folder allows, if there is one.
    pub fn within(mut self, layout: &ArchivePaths) -> Result<Self, CrawlError> {
        if layout.is_archive() {
            let allowed = read_settings(layout)?.allow_private;
            self.allow
                .extend(allowed.into_iter().filter(|entry| !self.allow.contains(entry)).collect::<Vec<_>>());
        }
        Ok(self)
    }

    /// Makes a client with these network options.
    pub fn client(&self, asker: &ClientOptions<'_>) -> Result<Client, CrawlError> {
        let mut options = HttpClientOptions::new(asker.temporary.clone());
        asker.user_agent.clone_into(&mut options.user_agent);
        options.limits = asker.limits;
        options.budget.clone_from(&asker.budget);
        options.guard = if self.allow_private { AddressGuard::allow_private() } else { AddressGuard::new() };
        if self.proxy_resolves {
            options.guard.allow_proxied_names();
        }
        self.allow.iter().try_for_each(|entry| options.guard.allow(entry))?;
        options.credentials = self.credentials_for(asker.seeds).map_err(CrawlError::Credentials)?;
        options.cookies = self.cookies.as_deref().map(cookies_in).transpose()?.unwrap_or_default();
        options.proxies = Proxies::parse(&self.proxies)?;
        let read = |path: &PathBuf| fs::read(path).map_err(RepositoryError::read(path));
        options.additional_roots = self.certificates.as_ref().map(read).transpose()?;
        options.idle_per_origin = asker.per_host.max(1);
        Client::new(options).map_err(CrawlError::Roots)
    }

    /// The proxies that requests go through, as silos record them.
    pub fn proxies_shown(&self) -> Option<String> {
        Proxies::parse(&self.proxies).ok().and_then(|proxies| proxies.shown())
    }

    /// The credentials of a run from these seeds. The headers go to the origins of the seeds only:
    /// other origins that a page embeds resources from must not receive them.
    pub fn credentials_for(&self, seeds: &[String]) -> Result<Credentials, CredentialsError> {
        let seeds: Vec<RequestUrl> = seeds.iter().filter_map(|seed| RequestUrl::verbatim(seed)).collect();
        // Each origin once: a request carries a header as often as its origin is named.
        let origins: BTreeSet<&str> = seeds.iter().map(|seed| seed.origin()).collect();
        let mut credentials = Credentials::parse(&self.credentials)?;
        credentials.extend(Credentials::for_origins(&self.headers, origins)?);
        Ok(credentials)
    }
}

/// The cookies in a file.
fn cookies_in(path: &Path) -> Result<CookieJar, CrawlError> {
    let bytes = fs::read(path).map_err(RepositoryError::read(path))?;
    let failed = |source| CrawlError::Cookies { path: path.to_owned(), source };
    CookieJar::parse_netscape(&String::from_utf8_lossy(&bytes)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_sent_once_to_an_origin_with_many_seeds() {
        let options = NetworkOptions { headers: vec!["Authorization: x".to_owned()], ..Default::default() };
        let seeds: Vec<String> = (0..200).map(|number| format!("http://h/{number}")).collect();
        let credentials = options.credentials_for(&seeds).unwrap();
        assert_eq!(credentials.names().len(), 1);
        assert!(credentials.has("http://h", "Authorization"));
    }
}
