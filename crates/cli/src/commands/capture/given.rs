//! Which options were written on the command line, for a run that is resumed: they take the place of what the run was begun
//! with, and all others stay as they were.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use varve_archive::verbs::capture::CrawlSettings;

/// The options that were written, by their ids. What the environment says, and what counts if nobody says anything, is not
/// among them.
///
/// It must be the first field of the arguments it belongs to, since those after it take what they read out of the matches.
pub(super) struct Given(Vec<String>);

/// Puts one setting of now in the place of the one that a run was begun with.
type Change = fn(&mut CrawlSettings, &CrawlSettings);

/// The options that may be said anew: none of them changes which pages belong to the run.
const CHANGEABLE: [(&str, Change); 18] = [
    ("limit_pages", |kept, now| kept.max_pages = now.max_pages),
    ("limit_bytes", |kept, now| kept.max_bytes = now.max_bytes),
    ("limit_time", |kept, now| kept.max_time = now.max_time),
    ("concurrency", |kept, now| kept.concurrency = now.concurrency),
    ("per_host", |kept, now| kept.per_host = now.per_host),
    ("delay", |kept, now| kept.delay = now.delay),
    ("retries", |kept, now| kept.retries = now.retries),
    ("retry_pause", |kept, now| kept.retry_pause = now.retry_pause),
    ("max_wait", |kept, now| kept.max_wait = now.max_wait),
    ("whole", |kept, now| kept.no_conditional = now.no_conditional),
    ("contact", |kept, now| kept.user_agent.clone_from(&now.user_agent)),
    ("user_agent", |kept, now| kept.user_agent.clone_from(&now.user_agent)),
    ("timeout", |kept, now| kept.timeout = now.timeout),
    ("connect_timeout", |kept, now| kept.connect_timeout = now.connect_timeout),
    ("idle_timeout", |kept, now| kept.idle_timeout = now.idle_timeout),
    ("largest", |kept, now| kept.max_size = now.max_size),
    ("message", |kept, now| kept.message.clone_from(&now.message)),
    ("author", |kept, now| kept.author.clone_from(&now.author)),
];

impl Given {
    /// Puts what was written now in the place of what a run was begun with.
    pub(super) fn change(&self, kept: &mut CrawlSettings, now: &CrawlSettings) {
        let was_usual = kept.per_host == usual_per_host(kept);
        for (id, change) in CHANGEABLE {
            if self.has(id) {
                change(kept, now);
            }
        }
        // How many requests a host gets at a time follows from the pause between them, unless somebody said it.
        if was_usual && !self.has("per_host") {
            kept.per_host = usual_per_host(kept);
        }
    }

    fn has(&self, id: &str) -> bool {
        self.0.iter().any(|given| given == id)
    }
}

/// How many requests a host gets at a time if nobody says it.
pub(super) fn usual_per_host(settings: &CrawlSettings) -> usize {
    if settings.delay == 0 { settings.concurrency } else { 1 }
}

impl FromArgMatches for Given {
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

/// It has no options of its own.
impl Args for Given {
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

    fn given(ids: &[&str]) -> Given {
        Given(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn only_what_was_written_changes() {
        let begun = CrawlSettings { delay: 500, per_host: 1, retries: 7, ..CrawlSettings::default() };
        let now =
            CrawlSettings { delay: 2000, retries: 3, message: "now".to_owned(), ..CrawlSettings::default() };
        let mut kept = begun.clone();
        given(&["delay", "message"]).change(&mut kept, &now);
        assert_eq!(kept, CrawlSettings { delay: 2000, message: "now".to_owned(), ..begun });
    }

    #[test]
    fn requests_at_a_time_follow_the_pause_unless_somebody_said_them() {
        let now = CrawlSettings { delay: 0, ..CrawlSettings::default() };
        let mut kept = CrawlSettings { delay: 500, per_host: 1, concurrency: 16, ..CrawlSettings::default() };
        given(&["delay"]).change(&mut kept, &now);
        assert_eq!((kept.delay, kept.per_host), (0, 16));
        let mut kept = CrawlSettings { per_host: 4, ..kept };
        given(&["delay"]).change(&mut kept, &CrawlSettings { delay: 9, ..now });
        assert_eq!((kept.delay, kept.per_host), (9, 4));
    }

    /// An id that no option has would be an option that is silently ignored.
    #[test]
    fn what_may_be_said_anew_are_options_of_the_verb() {
        let command = super::super::Capture::augment_args(Command::new("capture"));
        for (id, _) in CHANGEABLE {
            assert!(command.get_arguments().any(|argument| argument.get_id() == id), "{id}");
        }
    }
}
