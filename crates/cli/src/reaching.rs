//! Who asks the live web and how far it reaches: the options that every verb has which asks, in one place.
//!
//! What `varve.toml` says for good (`contact`, `allow_private`) comes in here too; what one kind of asking alone needs, as
//! a crawl its pace and a browser, stays with its verb.

use std::fs;
use std::path::{Path, PathBuf};

use varve_archive::verbs::capture::{NetworkOptions, ProxyText, ProxyTexts, contact_in, user_agent};
use varve_archive::{ArchiveError, Layout};

use crate::error::Error;
use crate::session::Session;

/// Who asks, and what may be asked.
#[derive(clap::Args)]
pub(crate) struct Reaching {
    /// Ask private addresses too: this machine, and the network that it is in; `allow_private` in `varve.toml` allows some for good
    #[arg(long)]
    allow_private: bool,

    /// An address under which whoever runs the sites can reach you; `contact` in `varve.toml` says it for good
    #[arg(long, value_name = "URL", env = "VARVE_CONTACT")]
    contact: Option<String>,

    /// Who asks, instead of varve and the contact
    #[arg(long, value_name = "TEXT")]
    user_agent: Option<String>,

    /// A file of headers for hosts, a line each: `HOST NAME: VALUE`, over https unless it is `http://HOST`; they are not recorded. The variable
    /// VARVE_CREDENTIALS may hold such lines too
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,

    /// A proxy for all requests: `http://HOST:PORT` or `socks5://HOST:PORT`, or `none`. Without it the variables http_proxy, https_proxy (or HTTPS_PROXY),
    /// all_proxy and no_proxy count as curl has them, for all but this machine
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,

    /// A file of certificates to trust, besides the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl Reaching {
    /// What was said, and what the archive here, if there is one, allows besides.
    pub(crate) fn reach(&self, session: &Session) -> Result<NetworkOptions, Error> {
        let mut credentials = self.credentials.as_deref().map(read).transpose()?.unwrap_or_default();
        credentials.push(b'\n');
        credentials.extend(std::env::var_os("VARVE_CREDENTIALS").unwrap_or_default().as_encoded_bytes());
        let reach = NetworkOptions {
            allow_private: self.allow_private,
            credentials: String::from_utf8_lossy(&credentials).into_owned(),
            proxies: self.proxies(),
            certificates: self.ca.as_deref().map(placed).transpose()?,
            ..NetworkOptions::default()
        };
        match layout(session)? {
            Some(layout) => Ok(reach.within(&layout)?),
            None => Ok(reach),
        }
    }

    fn proxies(&self) -> ProxyTexts {
        match self.proxy.as_deref() {
            Some("none") => ProxyTexts::nothing(),
            Some(url) => ProxyTexts::all(url),
            None => proxies_of(|name| std::env::var(name).ok()),
        }
    }

    /// The name under which is asked: the one that was given, or varve's, with whom to turn to.
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

/// The proxies that the environment names, as curl reads it. `HTTP_PROXY` does not count: to a program behind a web server it is a header that
/// any stranger may send.
fn proxies_of(variable: impl Fn(&str) -> Option<String>) -> ProxyTexts {
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
        never_here: true,
    }
}

/// Where the archive is, unless the verb was called outside of one.
fn layout(session: &Session) -> Result<Option<Layout>, Error> {
    match session.root() {
        Ok(root) => Ok(Some(Layout::new(&root))),
        Err(Error::Archive(ArchiveError::None { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where a file is, wherever somebody looks from later.
fn placed(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_read_as_curl_reads_it() {
        let read = |set: &[(&str, &str)]| {
            let texts = proxies_of(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
            });
            (
                texts.http.map(|http| http.text).unwrap_or_default(),
                texts.https.map(|https| https.text).unwrap_or_default(),
                texts.except.unwrap_or_default(),
            )
        };
        let said =
            |http: &str, https: &str, except: &str| (http.to_owned(), https.to_owned(), except.to_owned());
        assert_eq!(
            read(&[("http_proxy", "a"), ("HTTPS_PROXY", "b"), ("NO_PROXY", "c")]),
            said("a", "b", "c")
        );
        assert_eq!(read(&[("HTTP_PROXY", "a")]), said("", "", ""));
        assert_eq!(read(&[("all_proxy", "a"), ("https_proxy", "b"), ("no_proxy", "")]), said("a", "b", ""));
    }
}
