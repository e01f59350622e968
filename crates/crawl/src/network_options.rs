//! Who asks the live web: the client with its guard, credentials, proxy and certificates.
//!
//! Shared by all that fetches, so that there is one place where it is decided what may be reached and what is sent. It
//! belongs to the process; what of it a run keeps, so that whoever resumes it need not say it again, is in [`kept`].

mod kept;

use std::fs;
use std::path::{Path, PathBuf};
use varve_repository::RepositoryError;

use varve_core::url::RequestUrl;
use varve_fetch::{
    AddressGuard, ByteBudget, Client, Credentials, CredentialsError, FetchLimits, HttpClientOptions, Proxies,
    ProxyTexts,
};

use crate::error::CrawlError;
use varve_repository::archive::read_settings;
use varve_repository::archive_paths::ArchivePaths;

pub use kept::{SavedNetworkOptions, SecretName};

/// What belongs to the process that fetches.
#[derive(Clone, Debug, Default)]
pub struct NetworkOptions {
    /// Whether private addresses may be asked.
    pub allow_private: bool,
    /// Private hosts, addresses and networks that may be asked.
    pub allow: Vec<String>,
    /// Lines of credentials: `HOST NAME: VALUE`.
    pub credentials: String,
    /// Headers for the origins of the seeds alone: `NAME: VALUE`.
    pub headers: Vec<String>,
    /// The proxies that requests go through.
    pub proxies: ProxyTexts,
    /// The file of certificates to trust besides the platform's, as PEM.
    pub certificates: Option<PathBuf>,
    /// Chromium, for pages that are loaded in a browser.
    pub browser: Option<PathBuf>,
    /// Whether a run may go on without the headers and credentials that it was begun with.
    pub without_credentials: bool,
}

/// How a client asks.
pub struct ClientOptions<'a> {
    /// Where long answers are put down.
    pub temporary: &'a Path,
    /// Its name.
    pub user_agent: &'a str,
    /// How much one answer may take.
    pub limits: FetchLimits,
    /// How much all of them may take together, if that is limited.
    pub budget: Option<ByteBudget>,
    /// Connections kept for one origin.
    pub per_host: usize,
    /// Where the headers of a reach are sent.
    pub seeds: &'a [String],
}

/// Whom sites may turn to, as the `varve.toml` in that folder says, if there is one.
pub fn contact_in(layout: &ArchivePaths) -> Result<Option<String>, CrawlError> {
    if layout.is_archive() { Ok(read_settings(layout)?.contact) } else { Ok(None) }
}

impl NetworkOptions {
    /// As far as the `varve.toml` in that folder allows as well, if there is one.
    pub fn within(mut self, layout: &ArchivePaths) -> Result<Self, CrawlError> {
        if layout.is_archive() {
            let allowed = read_settings(layout)?.allow_private;
            self.allow
                .extend(allowed.into_iter().filter(|entry| !self.allow.contains(entry)).collect::<Vec<_>>());
        }
        Ok(self)
    }

    /// A client that reaches as far.
    pub fn client(&self, asker: &ClientOptions<'_>) -> Result<Client, CrawlError> {
        let mut options = HttpClientOptions::new(asker.temporary);
        asker.user_agent.clone_into(&mut options.user_agent);
        options.limits = asker.limits;
        options.budget.clone_from(&asker.budget);
        options.guard = if self.allow_private { AddressGuard::allow_private() } else { AddressGuard::new() };
        self.allow.iter().try_for_each(|entry| options.guard.allow(entry))?;
        options.credentials = self.credentials_for(asker.seeds).map_err(CrawlError::Credentials)?;
        options.proxies = Proxies::read(&self.proxies)?;
        let read = |path: &PathBuf| fs::read(path).map_err(RepositoryError::read(path));
        options.additional_roots = self.certificates.as_ref().map(read).transpose()?;
        options.idle_per_origin = asker.per_host.max(1);
        Client::new(options).map_err(CrawlError::Roots)
    }

    /// The proxies that requests go through, as silos say it.
    pub fn proxies_shown(&self) -> Option<String> {
        Proxies::read(&self.proxies).ok().and_then(|proxies| proxies.shown())
    }

    /// Headers go to the seeds' own origins: what a page embeds from elsewhere has no business with them.
    pub fn credentials_for(&self, seeds: &[String]) -> Result<Credentials, CredentialsError> {
        let mut lines = String::new();
        for seed in seeds.iter().filter_map(|seed| RequestUrl::verbatim(seed)) {
            for header in &self.headers {
                lines.push_str(&format!("{} {header}\n", seed.origin()));
            }
        }
        let mut credentials = Credentials::parse(&self.credentials)?;
        credentials.extend(Credentials::parse(&lines)?);
        Ok(credentials)
    }
}

/// Whether a URL has a user name or a password.
pub fn has_user_info(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())].contains('@')
}
