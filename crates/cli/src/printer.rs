//! The only file that writes to a terminal.
//!
//! Data goes to stdout, talk to stderr. Colours and progress appear on a terminal only, so that a pipe sees
//! plain lines. Verbs say what to print and never where: that keeps `--quiet`, `--color`, closed pipes and the
//! order of the two streams in one place.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Stderr, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
pub(crate) use varve_archive::readable;

use crate::error::{Error, Report};

/// For what the eye should find first.
pub(crate) const STRONG: Style = Style::new().bold();
/// For what may be skipped.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// For what is as it should be.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// For what deserves a look.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// For what is lost or wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
const FAILURE: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Large enough that a million lines cost few system calls.
const BUFFER: usize = 64 * 1024;

/// Both streams of one run.
pub(crate) struct Printer {
    data: BufWriter<AutoStream<Stdout>>,
    talk: AutoStream<Stderr>,
    /// Stands on the last line of the terminal while something long runs; steps aside for whatever is printed.
    progress: ProgressBar,
    /// Someone is watching stdout: each line is shown at once.
    watched: bool,
    quiet: bool,
}

impl Printer {
    /// A printer on this process's stdout and stderr.
    pub(crate) fn new(color: ColorChoice) -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        Self {
            watched: stdout.is_terminal(),
            data: BufWriter::with_capacity(BUFFER, AutoStream::new(stdout, color)),
            talk: AutoStream::new(stderr, color),
            progress: ProgressBar::hidden(),
            quiet: false,
        }
    }

    /// Whether someone is watching what is printed.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    /// From now on only data and errors are printed.
    pub(crate) fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// One line of data.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Error> {
        writeln!(self.data, "{line}").map_err(Error::Output)?;
        self.show_if_watched()
    }

    /// Data that brings its own line ends.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Error> {
        self.data.write_all(text.as_bytes()).map_err(Error::Output)?;
        self.show_if_watched()
    }

    /// One JSON object, on one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(&mut self.data, value).map_err(|error| Error::Output(error.into()))?;
        self.line("")
    }

    /// Where bytes go that are data as they are: no colour is taken from them, and no line end is seen.
    pub(crate) fn raw(&mut self) -> Result<impl Write, Error> {
        self.flush()?;
        Ok(self.data.get_ref().as_inner())
    }

    /// A remark for people; silent with `--quiet`.
    pub(crate) fn say(&mut self, remark: impl Display) {
        if !self.quiet {
            self.tell(format_args!("{remark}\n"));
        }
    }

    /// Shows how far the work is, on a terminal and without `--quiet`; elsewhere the bar is there but unseen.
    ///
    /// `total` is how many of `what` there will be, where that is known. The bar goes when the verb ends.
    pub(crate) fn progress(&mut self, total: Option<u64>, what: &'static str) -> Progress {
        let template = match total {
            Some(_) => "{wide_bar} {human_pos} of {human_len} {msg}, {eta} left",
            None => "{spinner} {human_pos} {msg}, {elapsed}",
        };
        self.bar(total, template, what)
    }

    /// As `progress`, for work that is counted in bytes.
    pub(crate) fn progress_bytes(&mut self, total: Option<u64>) -> Progress {
        let template = match total {
            Some(_) => "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}, {elapsed}",
        };
        self.bar(total, template, "")
    }

    /// As `progress`, for work whose measure is a sentence that changes.
    pub(crate) fn progress_said(&mut self) -> Progress {
        self.bar(None, "{spinner} {elapsed} {wide_msg}", "")
    }

    fn bar(&mut self, total: Option<u64>, template: &str, what: &'static str) -> Progress {
        let style = ProgressStyle::with_template(template).expect("the templates above are well formed");
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        self.progress = bar.with_style(style).with_message(what);
        Progress { bar: self.progress.clone(), waiting: AtomicBool::new(!self.quiet), began: Instant::now() }
    }

    /// A failure, in varve's form.
    pub(crate) fn report(&mut self, report: &Report) {
        let mut text = format!("{FAILURE}error:{FAILURE:#} {}\n", report.message);
        for cause in &report.causes {
            text.push_str(&format!("  cause: {cause}\n"));
        }
        for hint in &report.hints {
            text.push_str(&format!("{HINT}hint:{HINT:#} {hint}\n"));
        }
        self.tell(text);
    }

    /// Sends out all that was printed so far.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        let data = &mut self.data;
        if self.watched { self.progress.suspend(|| data.flush()) } else { data.flush() }
            .map_err(Error::Output)
    }

    /// Ends the run: the bar goes, and all data goes out.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.progress.finish_and_clear();
        self.flush()
    }

    fn show_if_watched(&mut self) -> Result<(), Error> {
        if self.watched { self.flush() } else { Ok(()) }
    }

    /// Talk comes after the data printed before it. Failing to talk is no failure of the work: a stdout that
    /// cannot be flushed here fails again at the end, and a closed stderr has no reader to tell.
    fn tell(&mut self, text: impl Display) {
        let _ = self.flush();
        let talk = &mut self.talk;
        self.progress.suspend(|| {
            let _ = write!(talk, "{text}");
        });
    }
}

/// How far the work is. It shows itself once the work has taken a second: what is quick needs no bar.
pub(crate) struct Progress {
    bar: ProgressBar,
    waiting: AtomicBool,
    began: Instant,
}

impl Progress {
    /// This is how far it is, in words.
    pub(crate) fn say(&self, words: String) {
        self.bar.set_message(words);
        self.inc(1);
    }

    /// So much more is done. May be told from any thread.
    pub(crate) fn inc(&self, more: u64) {
        self.bar.inc(more);
        if self.waiting.load(Ordering::Relaxed)
            && self.began.elapsed() >= Duration::from_secs(1)
            && self.waiting.swap(false, Ordering::Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

/// `text` from outside as it may be shown: a control character could move the cursor or rewrite what was printed, one
/// that turns the direction of writing could reorder a line, and one without a width hides. So they are spelled out.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(misleads) {
        return Cow::Borrowed(text);
    }
    let spelled = |letter: char| match misleads(letter) {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    Cow::Owned(text.chars().map(spelled).collect())
}

/// Whether a letter shows as something else than itself. Joiners (U+200C, U+200D) do not: many scripts are written with them.
fn misleads(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A number and its noun, in the plural unless there is one: `1 record`, `2 records`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let ending = match (count, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}

/// `1 index entry`, `2 index entries`.
pub(crate) fn counted_entries(count: u64) -> String {
    if count == 1 { "1 index entry".to_owned() } else { format!("{count} index entries") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_mislead_is_spelled_out() {
        assert_eq!(visible("a\u{1b}[1mb"), "a\\u{1b}[1mb");
        assert_eq!(visible("user\u{202e}txt.exe"), "user\\u{202e}txt.exe");
        assert_eq!(visible("pay\u{200b}pal"), "pay\\u{200b}pal");
        assert_eq!(visible("नमस्‍ते שלום"), "नमस्‍ते שלום");
    }

    #[test]
    fn bytes_are_shown_with_three_digits() {
        let cases =
            [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (68_031_581, "68.0 MB"), (999_499, "999 kB")];
        for (bytes, text) in cases {
            assert_eq!(readable(bytes), text);
        }
        assert_eq!(readable(999_500), "1.00 MB");
        assert_eq!(readable(200_000_000), "200 MB");
        assert_eq!(readable(u64::MAX), "18.4 EB");
    }
}
