//! The options on the command line of a resumed run: they replace those that the run was started
//! with. All others stay as they were.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use varve_archive::verbs::capture::CrawlSettings;

use super::arguments::default_per_host;

/// The ids of the options on the command line. Defaults and environment variables are not among
/// them.
///
/// It must be the first field of its struct, because the fields after it remove their values from
/// the matches.
pub(super) struct WrittenOptions(Vec<String>);

/// Copies one setting of the command line to the settings of the run.
type SettingChange = fn(&mut CrawlSettings, &CrawlSettings);

/// Options that may change when a run is resumed. None of them changes which pages belong to the
/// run.
const CHANGEABLE_SETTINGS: [(&str, SettingChange); 18] = [
    ("limit_pages", |kept, now| kept.max_pages = now.max_pages),
    ("limit_bytes", |kept, now| kept.max_bytes = now.max_bytes),
    ("limit_time", |kept, now| kept.max_time = now.max_time),
    ("concurrency", |kept, now| kept.concurrency = now.concurrency),
    ("per_host", |kept, now| kept.per_host = now.per_host),
    ("delay", |kept, now| kept.delay = now.delay),
    ("retries", |kept, now| kept.retries = now.retries),
    ("retry_delay", |kept, now| kept.retry_pause = now.retry_pause),
    ("max_wait", |kept, now| kept.max_wait = now.max_wait),
    ("no_conditional", |kept, now| kept.no_conditional = now.no_conditional),
    ("contact", |kept, now| kept.user_agent.clone_from(&now.user_agent)),
    ("user_agent", |kept, now| kept.user_agent.clone_from(&now.user_agent)),
    ("timeout", |kept, now| kept.timeout = now.timeout),
    ("connect_timeout", |kept, now| kept.connect_timeout = now.connect_timeout),
    ("idle_timeout", |kept, now| kept.idle_timeout = now.idle_timeout),
    ("max_size", |kept, now| kept.max_size = now.max_size),
    ("message", |kept, now| kept.message.clone_from(&now.message)),
    ("author", |kept, now| kept.author.clone_from(&now.author)),
];

impl WrittenOptions {
    /// Replaces settings of a run by those on the command line.
    pub(super) fn change(&self, kept: &mut CrawlSettings, now: &CrawlSettings) {
        let was_default = kept.per_host == default_per_host(kept);
        for (id, change) in CHANGEABLE_SETTINGS {
            if self.has(id) {
                change(kept, now);
            }
        }
        // The default of `--per-host` depends on `--delay`.
        if was_default && !self.has("per_host") {
            kept.per_host = default_per_host(kept);
        }
    }

    fn has(&self, id: &str) -> bool {
        self.0.iter().any(|given| given == id)
    }
}

impl FromArgMatches for WrittenOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let ids = matches.ids().map(|id| id.as_str());
        let written = ids.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        Ok(Self(written.map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Adds no options of its own.
impl Args for WrittenOptions {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(ids: &[&str]) -> WrittenOptions {
        WrittenOptions(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn only_options_on_the_command_line_change() {
        let begun = CrawlSettings { delay: 500, per_host: 1, retries: 7, ..CrawlSettings::default() };
        let now =
            CrawlSettings { delay: 2000, retries: 3, message: "now".to_owned(), ..CrawlSettings::default() };
        let mut kept = begun.clone();
        given(&["delay", "message"]).change(&mut kept, &now);
        assert_eq!(kept, CrawlSettings { delay: 2000, message: "now".to_owned(), ..begun });
    }

    #[test]
    fn requests_per_host_follow_the_delay_unless_given() {
        let now = CrawlSettings { delay: 0, ..CrawlSettings::default() };
        let mut kept = CrawlSettings { delay: 500, per_host: 1, concurrency: 16, ..CrawlSettings::default() };
        given(&["delay"]).change(&mut kept, &now);
        assert_eq!((kept.delay, kept.per_host), (0, 16));
        let mut kept = CrawlSettings { per_host: 4, ..kept };
        given(&["delay"]).change(&mut kept, &CrawlSettings { delay: 9, ..now });
        assert_eq!((kept.delay, kept.per_host), (9, 4));
    }

    /// An id without an option would be silently ignored.
    #[test]
    fn changeable_settings_are_options_of_the_verb() {
        let command = super::super::CaptureArgs::augment_args(Command::new("capture"));
        for (id, _) in CHANGEABLE_SETTINGS {
            assert!(command.get_arguments().any(|argument| argument.get_id() == id), "{id}");
        }
    }
}
