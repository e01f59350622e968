//! `varve seal`: a signed log of all versions, that others can verify.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use varve_archive::ArchivePaths;
use varve_archive::verbs::seal::{
    keep_timestamp, make_key, prove_versions, read_own_signer, read_signer, request_timestamp, seal,
};

use crate::printer::counted;
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::resolve_version;

/// Maximum length of the answer of a timestamp authority that is read.
const MAX_ANSWER_FILE_BYTES: u64 = 128 * 1024;

/// Sign a log of all versions, so that others can verify them
///
/// Every version becomes a leaf of a transparency log in the public form of c2sp.org/tlog-tiles, kept as
/// static files in the folder `seal`. The signed checkpoint is printed: publish it, or give it to someone.
/// From then on no version can be removed, changed, backdated or reordered without that being noticed.
/// Without new versions, nothing is written and the last checkpoint is printed.
///
/// A timestamp of the checkpoint by an authority (RFC 3161) shows when the versions existed at the latest:
/// `--timestamp-request` writes the request, the authority answers, and `--timestamp` keeps the answer.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  varve seal make-key
  varve seal
  varve seal --key ~/keys/museum.key --timestamp-request request.tsq
  curl -H 'Content-Type: application/timestamp-query' --data-binary @request.tsq https://tsa.example/ > answer.tsr
  varve seal --timestamp answer.tsr
  varve seal prove HEAD > proof.json"
)]
pub(super) struct SealArgs {
    #[command(subcommand)]
    verb: Option<SealVerb>,

    /// The private key to sign with, several times for several keys; default `seal.key` in the archive
    #[arg(long, value_name = "FILE", env = "VARVE_SEAL_KEY")]
    key: Vec<PathBuf>,

    /// Write the request for a timestamp of the checkpoint
    #[arg(long, value_name = "FILE", conflicts_with = "timestamp")]
    timestamp_request: Option<PathBuf>,

    /// Verify and keep the answer of a timestamp authority; seals nothing
    #[arg(long, value_name = "FILE")]
    timestamp: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum SealVerb {
    MakeKey(MakeSealKeyArgs),
    Prove(ProveArgs),
}

impl Verb for SealArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        match (&self.verb, &self.timestamp) {
            (Some(SealVerb::MakeKey(verb)), _) => verb.run(session),
            (Some(SealVerb::Prove(verb)), _) => verb.run(session),
            (None, Some(path)) => self.keep_answer(path, session),
            (None, None) => self.seal(session),
        }
    }
}

impl SealArgs {
    fn seal(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = session.open_archive_history()?;
        let signers = match self.key.is_empty() {
            true => read_own_signer(&ArchivePaths::new(&session.root()?))?.into_iter().collect(),
            false => self.key.iter().map(|path| read_signer(path)).collect::<Result<Vec<_>, _>>()?,
        };
        let report = seal(&history, &signers)?;
        if let Some(path) = &self.timestamp_request {
            let request = request_timestamp(report.checkpoint.as_bytes());
            let failed = |source| Error::Write { path: path.clone(), source };
            std::fs::write(path, request).map_err(failed)?;
        }
        match self.json {
            true => session.printer.json(&report)?,
            false => session.printer.text(&report.checkpoint)?,
        }
        session.printer.say(match report.sealed {
            0 => format!("nothing new: all {} are sealed", counted(report.size, "version")),
            new => format!(
                "sealed {}; the log has {}",
                counted(new, "new version"),
                counted(report.size, "version")
            ),
        });
        Ok(ExitStatus::Done)
    }

    fn keep_answer(&self, path: &Path, session: &mut Session) -> Result<ExitStatus, Error> {
        let answer = read_answer(path)?;
        let history = session.open_archive_history()?;
        let (size, verified) = keep_timestamp(&history, &answer)?;
        if self.json {
            let (time, authority) = (&verified.time, &verified.authority);
            session.printer.json(&json!({ "size": size, "time": time, "authority": authority }))?;
        } else {
            session.printer.say(format_args!(
                "{} existed at {}, says {}",
                counted(size, "sealed version"),
                verified.time,
                crate::printer::visible(&verified.authority)
            ));
        }
        Ok(ExitStatus::Done)
    }
}

fn read_answer(path: &Path) -> Result<Vec<u8>, Error> {
    let mut answer = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(MAX_ANSWER_FILE_BYTES + 1).read_to_end(&mut answer));
    read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Ok(answer)
}

/// Make a private key, in a file that only you can read, and print the public key
///
/// The name says whose log it is, best as a URL without its scheme: `example.org/museum`. It is part of
/// every checkpoint. The key cannot be made again: keep a copy, outside of the archive if others can write
/// to it. Who has the key can sign another history.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve seal make-key
  varve seal make-key --name example.org/museum ~/keys/museum.key > museum.pub")]
struct MakeSealKeyArgs {
    /// The file; default `seal.key` in the archive
    file: Option<PathBuf>,

    /// The name of the log; default `varve.local/` and the name of the folder
    #[arg(long)]
    name: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl MakeSealKeyArgs {
    fn run(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        session.require_writable()?;
        let path = match &self.file {
            Some(path) => path.clone(),
            None => ArchivePaths::new(&session.root()?).seal_key(),
        };
        let name = match &self.name {
            Some(name) => name.clone(),
            None => default_name(&path),
        };
        let public_key = make_key(&path, &name)?;
        match self.json {
            true => {
                let key = json!({ "file": path.display().to_string(), "public_key": public_key.to_string() });
                session.printer.json(&key)?
            }
            false => session.printer.line(&public_key)?,
        }
        session.printer.say(format_args!("wrote the private key to {}", path.display()));
        Ok(ExitStatus::Done)
    }
}

/// A name for the log from the folder of its key.
fn default_name(path: &Path) -> String {
    let folder = path.canonicalize().ok();
    let absolute = folder.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_owned());
    let folder = absolute.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let plain = |letter: char| if letter.is_alphanumeric() || "._-".contains(letter) { letter } else { '-' };
    let name: String = folder.unwrap_or_default().chars().map(plain).collect();
    format!("varve.local/{}", if name.is_empty() { "archive" } else { &name })
}

/// Print the proof that versions are in the log, as JSON
///
/// `varve verify FILE` checks it without the archive. It has the manifests of the versions, so it names
/// their pages. See `docs/evidence.md` for checking it with other programs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve seal prove > proof.json
  varve seal prove HEAD~1 first > proof.json
  varve verify proof.json --key museum.pub")]
struct ProveArgs {
    /// The versions: each a tag, an id, its beginning, `HEAD`, `HEAD~2`, or a time; default HEAD
    versions: Vec<String>,
}

impl ProveArgs {
    fn run(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = session.open_reader()?;
        let names = if self.versions.is_empty() { vec!["HEAD".to_owned()] } else { self.versions.clone() };
        let versions =
            names.iter().map(|name| resolve_version(&history, name)).collect::<Result<Vec<_>, _>>()?;
        session.printer.json(&prove_versions(&history, &versions)?)?;
        Ok(ExitStatus::Done)
    }
}
