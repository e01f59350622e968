//! Network options of all verbs that send requests.
//!
//! The settings `contact` and `allow_private` of `varve.toml` are applied here too. Options of one
//! verb, such as the rate of a crawl, stay with that verb.

use std::fs;
use std::path::{Path, PathBuf};

use varve_archive::verbs::capture::{NetworkOptions, ProxyText, ProxyTexts, contact_in, user_agent};
use varve_archive::{ArchiveError, ArchivePaths};

use crate::error::Error;
use crate::session::Session;

/// Who sends requests, and where they may go.
#[derive(clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkArgs {
    /// Allow private addresses: this machine and its network; `allow_private` in `varve.toml`
    /// allows single hosts permanently
    #[arg(long)]
    allow_private: bool,

    /// A URL where operators of the sites can reach you; `contact` in `varve.toml` sets it
    /// permanently
    #[arg(long, value_name = "URL", env = "VARVE_CONTACT")]
    contact: Option<String>,

    /// The User-Agent header [default: varve, with the contact]
    #[arg(long, value_name = "TEXT")]
    user_agent: Option<String>,

    /// A file of headers for hosts, one per line: `HOST NAME: VALUE`, sent over https unless the
    /// line begins with `http://HOST`. They are not recorded. The variable VARVE_CREDENTIALS may
    /// hold such lines too
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,

    /// A file of cookies to begin with, in the Netscape format that browsers' extensions, curl and
    /// wget write. Cookies that servers set are sent back to them during the run. Neither is
    /// recorded
    #[arg(long, value_name = "FILE")]
    cookies: Option<PathBuf>,

    /// A proxy for all requests: `http://HOST:PORT`, `socks5://HOST:PORT`, or `none` [default: the
    /// variables http_proxy, https_proxy (or HTTPS_PROXY), all_proxy and no_proxy, as curl uses
    /// them, except for this machine]. The proxy resolves names, so their addresses cannot be
    /// checked: names without a domain and private names (`.local`, `.internal`, `.corp`, ...) are
    /// refused, and `.onion` unless the proxy is a SOCKS proxy
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,

    /// Give the proxy any name: the proxy resolves names and decides which are private. Private
    /// addresses in URLs still need `--allow-private`
    #[arg(long)]
    proxy_resolves: bool,

    /// A file of certificates to trust besides those of the system
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// Where requests may go, for verbs whose requests are made by other programs.
#[derive(clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct ReachArgs {
    /// Allow private addresses: this machine and its network; `allow_private` in `varve.toml`
    /// allows single hosts permanently
    #[arg(long)]
    allow_private: bool,

    /// A proxy for all requests: `http://HOST:PORT`, `socks5://HOST:PORT`, or `none` [default: the
    /// variables http_proxy, https_proxy and no_proxy, as in `varve capture`]
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,

    /// Give the proxy any name: the proxy resolves names and decides which are private
    #[arg(long)]
    proxy_resolves: bool,

    /// A file of certificates to trust besides those of the system
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl ReachArgs {
    /// These options, with the settings of the archive if there is one.
    pub(crate) fn network_options(&self, session: &Session) -> Result<NetworkOptions, Error> {
        let Self { allow_private, proxy, proxy_resolves, ca } = self;
        let all = NetworkArgs {
            allow_private: *allow_private,
            contact: None,
            user_agent: None,
            credentials: None,
            cookies: None,
            proxy: proxy.clone(),
            proxy_resolves: *proxy_resolves,
            ca: ca.clone(),
        };
        all.network_options(session)
    }
}

impl NetworkArgs {
    /// These options, with the settings of the archive if there is one.
    pub(crate) fn network_options(&self, session: &Session) -> Result<NetworkOptions, Error> {
        let mut credentials = self.credentials.as_deref().map(read).transpose()?.unwrap_or_default();
        credentials.push(b'\n');
        credentials.extend(std::env::var_os("VARVE_CREDENTIALS").unwrap_or_default().as_encoded_bytes());
        let reach = NetworkOptions {
            allow_private: self.allow_private,
            credentials: String::from_utf8_lossy(&credentials).into_owned(),
            cookies: self.cookies.as_deref().map(absolute_path).transpose()?,
            proxies: self.proxies(),
            proxy_resolves: self.proxy_resolves,
            certificates: self.ca.as_deref().map(absolute_path).transpose()?,
            ..NetworkOptions::default()
        };
        match layout(session)? {
            Some(layout) => Ok(reach.within(&layout)?),
            None => Ok(reach),
        }
    }

    fn proxies(&self) -> ProxyTexts {
        match self.proxy.as_deref() {
            Some("none") => ProxyTexts::none(),
            Some(url) => ProxyTexts::all(url),
            None => proxies_from_environment(|name| std::env::var(name).ok()),
        }
    }

    /// The User-Agent: the given one, or varve's with the contact.
    pub(crate) fn user_agent(&self, session: &Session) -> Result<String, Error> {
        if let Some(name) = &self.user_agent {
            return Ok(name.clone());
        }
        let contact = match (&self.contact, layout(session)?) {
            (Some(contact), _) => Some(contact.clone()),
            (None, Some(layout)) => contact_in(&layout)?,
            (None, None) => None,
        };
        Ok(user_agent(contact.as_deref()))
    }
}

/// The proxies of the environment, as curl reads them. `HTTP_PROXY` is ignored: in a CGI program it
/// is a header that any client may send.
fn proxies_from_environment(variable: impl Fn(&str) -> Option<String>) -> ProxyTexts {
    let first = |names: &[&'static str]| {
        names.iter().find_map(|&name| {
            let text = variable(name).filter(|text| !text.is_empty())?;
            Some(ProxyText { text, variable: Some(name) })
        })
    };
    let all = || first(&["all_proxy", "ALL_PROXY"]);
    ProxyTexts {
        http: first(&["http_proxy"]).or_else(all),
        https: first(&["https_proxy", "HTTPS_PROXY"]).or_else(all),
        except: first(&["no_proxy", "NO_PROXY"]).map(|except| except.text),
        except_loopback: true,
    }
}

/// The archive, unless the verb runs outside of one.
fn layout(session: &Session) -> Result<Option<ArchivePaths>, Error> {
    match session.root() {
        Ok(root) => Ok(Some(ArchivePaths::new(&root))),
        Err(Error::Archive(ArchiveError::NoArchive(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An absolute path, which stays valid in another folder.
pub(crate) fn absolute_path(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_variables_are_read_as_curl_reads_them() {
        let read = |set: &[(&str, &str)]| {
            let texts = proxies_from_environment(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
            });
            (
                texts.http.map(|http| http.text).unwrap_or_default(),
                texts.https.map(|https| https.text).unwrap_or_default(),
                texts.except.unwrap_or_default(),
            )
        };
        let texts =
            |http: &str, https: &str, except: &str| (http.to_owned(), https.to_owned(), except.to_owned());
        assert_eq!(
            read(&[("http_proxy", "a"), ("HTTPS_PROXY", "b"), ("NO_PROXY", "c")]),
            texts("a", "b", "c")
        );
        assert_eq!(read(&[("HTTP_PROXY", "a")]), texts("", "", ""));
        assert_eq!(read(&[("all_proxy", "a"), ("https_proxy", "b"), ("no_proxy", "")]), texts("a", "b", ""));
    }
}
