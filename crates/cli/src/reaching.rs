//! Who asks the live web and how far it reaches: the options that every verb has which asks, in one place.
//!
//! What `varve.toml` says for good (`contact`, `allow_private`) comes in here too; what one kind of asking alone needs, as
//! a crawl its pace and a browser, stays with its verb.

use std::fs;
use std::path::{Path, PathBuf};

use varve_archive::verbs::capture::{Reach, contact_in, user_agent};
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

    /// A proxy for all requests: `http://HOST:PORT` or `socks5://HOST:PORT`
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,

    /// A file of certificates to trust, besides the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl Reaching {
    /// What was said, and what the archive here, if there is one, allows besides.
    pub(crate) fn reach(&self, session: &Session) -> Result<Reach, Error> {
        let mut credentials = self.credentials.as_deref().map(read).transpose()?.unwrap_or_default();
        credentials.push(b'\n');
        credentials.extend(std::env::var_os("VARVE_CREDENTIALS").unwrap_or_default().as_encoded_bytes());
        let reach = Reach {
            allow_private: self.allow_private,
            credentials: String::from_utf8_lossy(&credentials).into_owned(),
            proxy: self.proxy.clone(),
            certificates: self.ca.as_deref().map(read).transpose()?,
            ..Reach::default()
        };
        match layout(session)? {
            Some(layout) => Ok(reach.within(&layout)?),
            None => Ok(reach),
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

/// Where the archive is, unless the verb was called outside of one.
fn layout(session: &Session) -> Result<Option<Layout>, Error> {
    match session.root() {
        Ok(root) => Ok(Some(Layout::new(&root))),
        Err(Error::Archive(ArchiveError::None { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}
