//! The signing key of the API, for the verbs `serve` and `token`.
//!
//! A key on the command line can be read by other users of the machine, so a file and a variable are
//! alternatives. The key is never printed, and no message contains it.

use std::path::PathBuf;

use varve_serve::token::SigningKey;

use crate::input::MAX_LINE_BYTES;
use crate::verb::Error;

/// Where the signing key is.
#[derive(clap::Args)]
pub(super) struct SigningKeyArgs {
    /// The key that signs and verifies tokens, in base64: see `varve token make-key`. Other users of
    /// this machine can see command lines; the variable and the file are safer
    #[arg(long, value_name = "KEY", env = "VARVE_SIGNING_KEY", hide_env_values = true)]
    signing_key: Option<String>,

    /// A file with the key; it is used instead of `--signing-key` and the variable
    #[arg(long, value_name = "FILE")]
    signing_key_file: Option<PathBuf>,
}

impl SigningKeyArgs {
    /// The key, if one was given. An empty variable counts as none.
    pub(super) fn read(&self) -> Result<Option<SigningKey>, Error> {
        let text = match &self.signing_key_file {
            Some(path) => Some(read_file(path)?),
            None => self.signing_key.clone().filter(|text| !text.is_empty()),
        };
        text.map(|text| SigningKey::parse(&text).map_err(Error::SigningKey)).transpose()
    }

    /// The key, or an error if none was given.
    pub(super) fn require(&self) -> Result<SigningKey, Error> {
        self.read()?.ok_or(Error::NoSigningKey)
    }
}

fn read_file(path: &PathBuf) -> Result<String, Error> {
    let failed = |source| Error::Read { path: path.clone(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    let limited = std::io::Read::take(file, MAX_LINE_BYTES as u64);
    std::io::Read::read_to_string(&mut { limited }, &mut text).map_err(failed)?;
    Ok(text)
}
