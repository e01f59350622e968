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
    ("limit_pages", |kept, now| kept.limits.max_pages = now.limits.max_pages),
    ("limit_bytes", |kept, now| kept.limits.max_bytes = now.limits.max_bytes),
    ("limit_time", |kept, now| kept.limits.max_time = now.limits.max_time),
    ("concurrency", |kept, now| kept.politeness.concurrency = now.politeness.concurrency),
    ("per_host", |kept, now| kept.politeness.per_host = now.politeness.per_host),
    ("delay", |kept, now| kept.politeness.delay = now.politeness.delay),
    ("retries", |kept, now| kept.politeness.retries = now.politeness.retries),
    ("retry_delay", |kept, now| kept.politeness.retry_pause = now.politeness.retry_pause),
    ("max_wait", |kept, now| kept.politeness.max_wait = now.politeness.max_wait),
    ("no_conditional", |kept, now| kept.requests.no_conditional = now.requests.no_conditional),
    ("contact", |kept, now| kept.politeness.user_agent.clone_from(&now.politeness.user_agent)),
    ("user_agent", |kept, now| kept.politeness.user_agent.clone_from(&now.politeness.user_agent)),
    ("timeout", |kept, now| kept.requests.timeout = now.requests.timeout),
    ("connect_timeout", |kept, now| kept.requests.connect_timeout = now.requests.connect_timeout),
    ("idle_timeout", |kept, now| kept.requests.idle_timeout = now.requests.idle_timeout),
    ("max_size", |kept, now| kept.requests.max_size = now.requests.max_size),
    ("message", |kept, now| kept.message.clone_from(&now.message)),
    ("author", |kept, now| kept.author.clone_from(&now.author)),
];

impl WrittenOptions {
    /// Replaces settings of a run by those on the command line.
    pub(super) fn change(&self, kept: &mut CrawlSettings, now: &CrawlSettings) {
        let was_default = kept.politeness.per_host == default_per_host(kept);
        for (id, change) in CHANGEABLE_SETTINGS {
            if self.has(id) {
                change(kept, now);
            }
        }
        // The default of `--per-host` depends on `--delay`.
        if was_default && !self.has("per_host") {
            kept.politeness.per_host = default_per_host(kept);
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
        let begun = CrawlSettings::default().with(|settings| {
            settings.politeness.delay = 500;
            settings.politeness.per_host = 1;
            settings.politeness.retries = 7;
        });
        let now = CrawlSettings::default().with(|settings| {
            settings.politeness.delay = 2000;
            settings.politeness.retries = 3;
            settings.message = "now".to_owned();
        });
        let mut kept = begun.clone();
        given(&["delay", "message"]).change(&mut kept, &now);
        assert_eq!(
            kept,
            begun.with(|settings| {
                settings.politeness.delay = 2000;
                settings.message = "now".to_owned();
            })
        );
    }

    #[test]
    fn requests_per_host_follow_the_delay_unless_given() {
        let now = CrawlSettings::default().with(|settings| settings.politeness.delay = 0);
        let mut kept = CrawlSettings::default().with(|settings| {
            settings.politeness.delay = 500;
            settings.politeness.per_host = 1;
            settings.politeness.concurrency = 16;
        });
        given(&["delay"]).change(&mut kept, &now);
        assert_eq!((kept.politeness.delay, kept.politeness.per_host), (0, 16));
        let mut kept = kept.with(|settings| settings.politeness.per_host = 4);
        given(&["delay"]).change(&mut kept, &now.with(|settings| settings.politeness.delay = 9));
        assert_eq!((kept.politeness.delay, kept.politeness.per_host), (9, 4));
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
