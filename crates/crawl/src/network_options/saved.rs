//! The network options that a run saves, so that a resumed run has the same network access.
//!
//! Options that are not secret are saved as given: whether private addresses are allowed, the path
//! of the certificates and of the cookies, the proxy, and whether it is given private names. Of each
//! secret, only the origin and the name of the header are saved.
//!
//! A run that was begun with a secret is not resumed without it unless the user allows that.
//! Otherwise every page would be requested without credentials, and the refusal would be stored in
//! place of the page.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use varve_fetch::{Proxies, ProxyTexts};

use super::NetworkOptions;
use crate::error::CrawlError;

/// The header with the credentials for a proxy.
const PROXY_AUTHORIZATION: &str = "Proxy-Authorization";

/// The network options that a run saves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedNetworkOptions {
    /// Whether requests to private addresses are allowed.
    pub allow_private: bool,
    /// The file of certificates to trust in addition to those of the platform.
    pub certificates: Option<PathBuf>,
    /// The file of cookies. Its content is not saved.
    pub cookies: Option<PathBuf>,
    /// The proxy that the user named, without credentials; empty if no proxy is to be used.
    pub proxy: Option<String>,
    /// Whether the proxy may be given private names.
    pub proxy_resolves: bool,
    /// The secrets that the user gave, without their values.
    pub secrets: Vec<SecretName>,
}

/// The name of a secret that the user gave, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretName {
    /// The origin that it is sent to.
    pub origin: String,
    /// The name of the header.
    pub name: String,
}

impl SavedNetworkOptions {
    /// Whether all options have their defaults, so that nothing is saved.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl NetworkOptions {
    /// The names of all secrets except the headers for seeds.
    pub fn secrets(&self) -> Vec<SecretName> {
        self.to_save(&[]).map(|saved| saved.secrets).unwrap_or_default()
    }

    /// The options that a run from these seeds saves.
    pub fn to_save(&self, seeds: &[String]) -> Result<SavedNetworkOptions, CrawlError> {
        let credentials = self.credentials_for(seeds).map_err(CrawlError::Credentials)?;
        let mut secrets: Vec<SecretName> = Vec::new();
        for (origin, name) in credentials.names() {
            let secret = SecretName { origin, name };
            if !secrets.contains(&secret) {
                secrets.push(secret);
            }
        }
        let (mut proxy, proxies) = (None, Proxies::parse(&self.proxies)?);
        if self.proxies.are_given() {
            let shown = proxies.shown().unwrap_or_default();
            if proxies.have_login() {
                secrets.push(SecretName { origin: shown.clone(), name: PROXY_AUTHORIZATION.to_owned() });
            }
            proxy = Some(shown);
        }
        Ok(SavedNetworkOptions {
            allow_private: self.allow_private,
            certificates: self.certificates.clone(),
            cookies: self.cookies.clone(),
            proxy,
            proxy_resolves: self.proxy_resolves,
            secrets,
        })
    }

    /// Merges the options that a run from these seeds saved into the present ones. Fails if a saved
    /// secret is not given again, unless `without_credentials` is set.
    pub fn with_saved(&self, saved: &SavedNetworkOptions, seeds: &[String]) -> Result<Self, CrawlError> {
        let mut merged = self.clone();
        merged.allow_private |= saved.allow_private;
        merged.proxy_resolves |= saved.proxy_resolves;
        if merged.certificates.is_none() {
            merged.certificates.clone_from(&saved.certificates);
        }
        if merged.cookies.is_none() && !self.without_credentials {
            merged.cookies.clone_from(&saved.cookies);
        }
        let names_proxy = self.proxies.are_given();
        if let Some(proxy) = saved.proxy.as_deref().filter(|_| !names_proxy) {
            merged.proxies = ProxyTexts::all(proxy);
        }
        let credentials = self.credentials_for(seeds).map_err(CrawlError::Credentials)?;
        let is_missing = |secret: &&SecretName| match secret.name.as_str() {
            // A user who names a proxy now gives its credentials with it.
            PROXY_AUTHORIZATION => !names_proxy,
            name => !credentials.has(&secret.origin, name),
        };
        let mut missing = saved.secrets.iter().filter(is_missing);
        match missing.next().filter(|_| !self.without_credentials) {
            None => Ok(merged),
            Some(first) => Err(CrawlError::SecretMissing { secret: first.clone(), more: missing.count() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds() -> Vec<String> {
        vec!["http://h:81/x".to_owned()]
    }

    #[test]
    fn saved_options_are_used_again_unless_given_anew() {
        let begun = NetworkOptions {
            allow_private: true,
            proxy_resolves: true,
            certificates: Some("/ca.pem".into()),
            cookies: Some("/cookies.txt".into()),
            proxies: ProxyTexts::all("http://p:8080"),
            ..NetworkOptions::default()
        };
        let saved = begun.to_save(&seeds()).unwrap();
        let again = NetworkOptions::default().with_saved(&saved, &seeds()).unwrap();
        assert_eq!(again.to_save(&seeds()).unwrap(), saved);
        assert_eq!((again.proxies_shown().as_deref(), again.proxy_resolves), (Some("http://p:8080"), true));
        assert_eq!(again.cookies.as_deref(), Some(std::path::Path::new("/cookies.txt")));
        let without = NetworkOptions { without_credentials: true, ..NetworkOptions::default() };
        assert_eq!(without.with_saved(&saved, &seeds()).unwrap().cookies, None);
        let certificates = Some("/other.pem".into());
        let other = NetworkOptions { certificates, proxies: ProxyTexts::none(), ..NetworkOptions::default() };
        let again = other.with_saved(&saved, &seeds()).unwrap();
        assert_eq!((again.certificates.clone(), again.proxies_shown()), (other.certificates, None));
        let saved = again.to_save(&seeds()).unwrap();
        assert_eq!(saved.proxy.as_deref(), Some(""), "that no proxy is used is saved as well");
    }

    #[test]
    fn a_secret_is_saved_by_name_only_and_must_be_given_again() {
        let begun = NetworkOptions {
            headers: vec!["Authorization: hunter2".to_owned()],
            credentials: "other Cookie: hunter2".to_owned(),
            proxies: ProxyTexts::all("http://me:hunter2@p:8080"),
            ..NetworkOptions::default()
        };
        let saved = begun.to_save(&seeds()).unwrap();
        let json = serde_json::to_string(&saved).unwrap();
        assert!(!json.contains("hunter2") && json.contains("http://h:81"), "{json}");
        let refused = NetworkOptions::default().with_saved(&saved, &seeds()).unwrap_err().to_string();
        assert!(refused.contains("`Cookie` for `https://other`") && refused.contains("2 more"), "{refused}");
        assert!(begun.with_saved(&saved, &seeds()).is_ok());
        let without = NetworkOptions { without_credentials: true, ..NetworkOptions::default() };
        let again = without.with_saved(&saved, &seeds()).unwrap();
        assert_eq!(again.to_save(&seeds()).unwrap().secrets, []);
    }
}
