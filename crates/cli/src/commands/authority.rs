//! The certificate authority of the user, for proxies that clients are configured for by hand.

use std::path::PathBuf;
use std::sync::Arc;

use varve_archive::ArchiveError;
use varve_archive::verbs::proxy::CertificateAuthority;

use crate::verb::Error;

/// Where the authority is.
#[derive(clap::Args)]
pub(super) struct AuthorityArgs {
    /// Folder of the certificate authority of the proxy [default: `varve` in XDG_CONFIG_HOME or
    /// `~/.config`]
    #[arg(long, value_name = "FOLDER", env = "VARVE_CA_FOLDER")]
    ca_folder: Option<PathBuf>,
}

impl AuthorityArgs {
    /// The authority, which is made at first use.
    pub(super) fn open(&self) -> Result<Arc<CertificateAuthority>, Error> {
        let authority = CertificateAuthority::open_or_create(&self.folder()?);
        Ok(Arc::new(authority.map_err(ArchiveError::from)?))
    }

    fn folder(&self) -> Result<PathBuf, Error> {
        if let Some(folder) = &self.ca_folder {
            return Ok(folder.clone());
        }
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let settings = named("XDG_CONFIG_HOME").or_else(|| named("HOME").map(|home| home.join(".config")));
        settings.map(|settings| settings.join("varve")).ok_or(Error::NoSettingsFolder)
    }
}
