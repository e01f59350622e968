//! `varve proxy`: records what a browser or any program requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::json;
use varve_archive::verbs::capture::{self, CrawlSettings, RunEnd, RunOptions};
use varve_archive::verbs::intent;
use varve_archive::verbs::proxy::{
    self as verb, CertificateAuthority, RecordedProgram, RecordingOptions, RecordingStart,
};

use super::authority::AuthorityArgs;
use super::capture::{RunReporter, UnsentCredentials};
use crate::network_args::ReachArgs;
use crate::printer::{counted, human_size};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_text::UNINDEXED_TEXT;
use crate::{duration, signals};

/// Record what a browser or program requests, as one version
///
/// Starts an HTTP proxy. Set it as the HTTP and HTTPS proxy of a browser, a phone or any program: every request is made
/// on the live web, and its response is recorded byte for byte while it is passed on. Ctrl-C ends the recording and
/// makes a version of it.
///
/// For HTTPS the proxy makes certificates with a certificate authority of its own, which is made at first use and kept
/// in the folder of your settings, readable by you alone. Clients must trust it: open http://ADDRESS/ in the browser, or
/// use `--print-ca`. Remove it from clients that no longer need it. `varve record` needs none of this.
///
/// Cookies, `Authorization` and bodies with passwords are sent and not recorded. The first response to a `GET` request
/// of a URL is its capture, and the first successful one after an error or a redirect; all other exchanges are recorded,
/// but are not captures of the URL. Frames of web sockets are recorded as metadata. Private addresses are refused unless
/// they are allowed, and so are ports that are not for the web.
///
/// A recording that was interrupted is continued with `--resume`, or ended with `--finish`.
///
/// With `--json`, prints one object per line: `listening` with the address of the `proxy`, then the events of
/// `varve capture` (`captured`, `exchanged`, `failed`), and last the version.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve proxy
  varve proxy --listen 127.0.0.1:8888 -m 'the tax portal'
  varve proxy --idle-exit 10m
  varve proxy --print-ca > varve-ca.pem
  varve proxy --allow-remote --listen 0.0.0.0:8090
  curl --proxy http://127.0.0.1:8090 --cacert varve-ca.pem https://example.com/")]
pub(super) struct ProxyArgs {
    /// Address of the proxy; port 0 selects a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,

    #[command(flatten)]
    recording: RecordingArgs,

    /// End the recording when nothing was requested for this long
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    idle_exit: Option<Duration>,

    /// Continue the recording that was interrupted
    #[arg(long, conflicts_with = "finish")]
    resume: bool,

    /// End the recording that was interrupted, and make a version of it
    #[arg(long, conflicts_with = "message")]
    finish: bool,

    /// Allow other machines to connect; they can send requests through this one
    #[arg(long)]
    allow_remote: bool,

    /// Print the certificate that clients must trust, and exit
    #[arg(long)]
    print_ca: bool,

    #[command(flatten)]
    authority: AuthorityArgs,
}

/// Options of every recording.
#[derive(clap::Args)]
pub(super) struct RecordingArgs {
    /// Why this version is made
    #[arg(short, long)]
    message: Option<String>,

    /// Who makes this version
    #[arg(long, env = "VARVE_AUTHOR", hide_env_values = true)]
    author: Option<String>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    reach: ReachArgs,
}

impl Verb for ProxyArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        if self.finish {
            return self.end_interrupted(session);
        }
        if !self.listen.ip().is_loopback() && !self.allow_remote {
            return Err(Error::OpenProxy { address: self.listen });
        }
        let authority = self.authority.open()?;
        if self.print_ca {
            session.printer.line(authority.certificate_pem().trim_end())?;
            return Ok(ExitStatus::Done);
        }
        let start = match self.resume {
            true => RecordingStart::Resume { message: self.recording.message.clone() },
            false => RecordingStart::New(Box::new(self.recording.settings("recorded by the proxy"))),
        };
        let recording = Recording { start, listen: self.listen, authority, idle_exit: self.idle_exit };
        self.recording.record(session, recording, &mut ())
    }
}

impl ProxyArgs {
    fn end_interrupted(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = session.open_archive_history()?;
        let (stop, intent) = (AtomicBool::new(false), intent::keep(&history)?);
        let reach = self.recording.reach.network_options(session)?;
        let manner = RunOptions { reach, threads: Session::threads(), stop: &stop, intent };
        let ended = capture::finish(&history, manner)?;
        self.recording.print(session, &ended)
    }
}

/// A recording to make.
pub(super) struct Recording {
    pub(super) start: RecordingStart,
    pub(super) listen: SocketAddr,
    pub(super) authority: Arc<CertificateAuthority>,
    pub(super) idle_exit: Option<Duration>,
}

impl RecordingArgs {
    /// The settings of a new recording.
    pub(super) fn settings(&self, default_message: &str) -> CrawlSettings {
        CrawlSettings {
            message: self.message.clone().unwrap_or_else(|| default_message.to_owned()),
            author: self.author.clone(),
            ..CrawlSettings::default()
        }
        .with(|settings| settings.politeness.obey_robots = false)
    }

    /// Records until the recording ends, and prints the version.
    pub(super) fn record(
        &self,
        session: &mut Session,
        recording: Recording,
        program: &mut dyn RecordedProgram,
    ) -> Result<ExitStatus, Error> {
        let reach = self.reach.network_options(session)?;
        let history = session.open_archive_history()?;
        let intent = intent::keep(&history)?;
        let stop = signals::stop_flag();
        let unsent = UnsentCredentials::new(&reach);
        let manner = RunOptions { reach, threads: Session::threads(), stop: &stop, intent };
        let Recording { start, listen, authority, idle_exit } = recording;
        let options = RecordingOptions { manner, listen, authority, idle_exit };
        let mut watcher = RunReporter::new(&mut session.printer, self.json, None, unsent)?;
        let ended = verb::record(&history, start, options, program, &mut |event| watcher.see(&event));
        let seen = watcher.end()?;
        let ended = ended?;
        if !self.json {
            seen.tell(&mut session.printer);
        }
        self.print(session, &ended)
    }

    fn print(&self, session: &mut Session, ended: &RunEnd) -> Result<ExitStatus, Error> {
        let tally = &ended.tally;
        if ended.is_unindexed {
            session.printer.warn(UNINDEXED_TEXT);
        }
        if self.json {
            session.printer.json(&json!({
                "version": ended.version.map(|version| version.to_string()),
                "parent": ended.parent.map(|parent| parent.to_string()),
                "run": ended.run.to_string(),
                "captured": ended.captures,
                "unchanged": tally.unchanged,
                "truncated": tally.truncated,
                "exchanged": tally.exchanged,
                "failed": tally.failed,
                "bytes": tally.bytes,
            }))?;
        } else if let Some(version) = ended.version {
            session.printer.line(version)?;
            session.printer.say(format_args!(
                "{}, {} unchanged, {}, {}, {} failed",
                counted(ended.captures, "capture"),
                tally.unchanged,
                counted(tally.exchanged, "other exchange"),
                human_size(tally.bytes),
                tally.failed
            ));
        } else {
            session.printer.say("nothing was recorded");
        }
        Ok(if ended.version.is_some() { ExitStatus::Done } else { ExitStatus::Findings })
    }
}
