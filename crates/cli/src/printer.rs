//! The only file that writes to a terminal.
//!
//! Data goes to stdout, messages to stderr. Colours and progress appear on a terminal only. Verbs
//! decide what to print and not where: so `--quiet`, `--color`, closed pipes and the order of the
//! two streams are handled here.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Stderr, Stdout, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anstream::adapter::StripBytes;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::Value;
use varve_archive::json_text;
pub(crate) use varve_archive::{human_size, visible};

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::exit_status::ExitStatus;
use crate::json_stream::{error_line, with_schema_number};

/// For headings and names.
pub(crate) const STRONG_STYLE: Style = Style::new().bold();
/// For details.
pub(crate) const FAINT_STYLE: Style = Style::new().dimmed();
/// For good results.
pub(crate) const GOOD_STYLE: Style = AnsiColor::Green.on_default().bold();
/// For warnings.
pub(crate) const WARNING_STYLE: Style = AnsiColor::Yellow.on_default().bold();
/// For damage and errors in data.
pub(crate) const BAD_STYLE: Style = AnsiColor::Red.on_default().bold();
const ERROR_STYLE: Style = AnsiColor::Red.on_default().bold();
const HINT_STYLE: Style = AnsiColor::Cyan.on_default().bold();

/// Large enough that a million lines take few system calls.
const OUTPUT_BUFFER_BYTES: usize = 64 * 1024;

/// Items listed in a message; the others are counted.
const MAX_LISTED_ITEMS: usize = 10;

/// Both output streams of the program.
pub(crate) struct Printer {
    data: BufWriter<Stdout>,
    /// Takes out colours, unless they are shown. It comes before the buffer, because it divides
    /// each coloured line into several pieces.
    uncolour: Option<StripBytes>,
    talk: AutoStream<Stderr>,
    /// The progress bar, hidden while other output is printed.
    progress: SharedBar,
    /// Whether stdout is a terminal; then each line is flushed.
    watched: bool,
    quiet: bool,
    color: ColorChoice,
    /// Bytes of data printed, without raw data.
    printed: usize,
    /// Bytes of data that a repeated verb prints again, and that are dropped.
    repeated: usize,
    has_raw_data: bool,
    /// Whether data and errors are JSON.
    is_json: bool,
    /// Whether the next object is the first of the stream, which states the schema number.
    is_first_object: bool,
}

/// The bar on the terminal, if there is one.
#[derive(Clone)]
struct SharedBar(Arc<Mutex<ProgressBar>>);

impl SharedBar {
    fn current(&self) -> ProgressBar {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, bar: ProgressBar) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }
}

impl Printer {
    /// A printer on stdout and stderr of this process. With `is_json`, the first object on stdout
    /// states the schema number, and errors are JSON.
    pub(crate) fn new(color: ColorChoice, is_json: bool) -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        Self {
            watched: stdout.is_terminal(),
            uncolour: (stdout_color(color) == ColorChoice::Never).then(StripBytes::new),
            data: BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, stdout),
            talk: AutoStream::new(stderr, color),
            progress: SharedBar(Arc::new(Mutex::new(ProgressBar::hidden()))),
            quiet: false,
            color,
            printed: 0,
            repeated: 0,
            has_raw_data: false,
            is_json,
            is_first_object: is_json,
        }
    }

    /// Whether stdout is a terminal.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    /// Prints only data and errors from now on.
    pub(crate) fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Prepares for a verb that starts again: what it has printed is not printed twice. Returns
    /// false if that is impossible.
    pub(crate) fn start_again(&mut self) -> bool {
        self.end_progress();
        self.repeated = self.printed;
        self.is_first_object = self.is_json;
        !self.has_raw_data
    }

    /// Writes data. The first JSON object of a stream gets the schema number as its first field.
    fn write_data(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() || !std::mem::take(&mut self.is_first_object) {
            return self.write_new_data(bytes);
        }
        match with_schema_number(bytes) {
            Some(bytes) => self.write_new_data(&bytes),
            None => self.write_new_data(bytes),
        }
    }

    /// Writes data, except what was written before the verb started again.
    fn write_new_data(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let repeated = self.repeated.min(bytes.len());
        self.repeated -= repeated;
        self.printed += bytes.len() - repeated;
        let Some(uncolour) = &mut self.uncolour else {
            return self.data.write_all(&bytes[repeated..]).map_err(Error::Output);
        };
        let mut pieces = uncolour.strip_next(&bytes[repeated..]);
        pieces.try_for_each(|piece| self.data.write_all(piece)).map_err(Error::Output)
    }

    /// One line of data.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Error> {
        self.write_data(format!("{line}\n").as_bytes())?;
        self.show_if_watched()
    }

    /// Data with its own line endings.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Error> {
        self.write_data(text.as_bytes())?;
        self.show_if_watched()
    }

    /// One JSON object, on one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Error> {
        self.line(json_text(value).map_err(|error| Error::Output(error.into()))?)
    }

    /// The last JSON object of a list: `{"summary": …}`.
    pub(crate) fn json_summary(&mut self, summary: &impl Serialize) -> Result<(), Error> {
        self.json(&serde_json::json!({ "summary": summary }))
    }

    /// The result of a verification: what was `checked`, and the number of findings.
    pub(crate) fn verification(&mut self, findings: u64, checked: &str) -> Result<ExitStatus, Error> {
        match findings {
            0 => self.line(format_args!("{GOOD_STYLE}ok{GOOD_STYLE:#}: {checked}"))?,
            _ => self.line(format_args!("{} in {checked}", counted(findings, "finding")))?,
        }
        Ok(ExitStatus::of_findings(findings))
    }

    /// One finding: its severity and what is wrong.
    pub(crate) fn finding(&mut self, style: Style, severity: &str, text: &str) -> Result<(), Error> {
        self.line(format_args!("{style}{severity:<7}{style:#} {text}"))
    }

    /// Warns about comments that are lost when a YAML file is written.
    pub(crate) fn warn_of_lost_comments(&mut self, path: &Path, lines: &[u64]) {
        let numbers: Vec<String> = lines.iter().take(5).map(ToString::to_string).collect();
        let more = if lines.len() > 5 { ", …" } else { "" };
        let noun = if lines.len() == 1 { "line" } else { "lines" };
        self.warn(format_args!(
            "comments in `{}` are lost when it is written: {noun} {}{more}",
            visible(&path.to_string_lossy()),
            numbers.join(", ")
        ));
    }

    /// A writer for binary data, without colour handling.
    pub(crate) fn raw(&mut self) -> Result<impl Write, Error> {
        self.flush()?;
        Ok(RawOutput { output: self.data.get_ref(), is_used: &mut self.has_raw_data })
    }

    /// A message for people; silent with `--quiet`.
    pub(crate) fn say(&mut self, remark: impl Display) {
        if !self.quiet {
            self.tell(format_args!("{remark}\n"));
        }
    }

    /// Prints messages for people from any thread, as [`Self::say`] does.
    pub(crate) fn messenger(&self) -> impl Fn(String) + Send + Sync + use<> {
        let (progress, quiet, color) = (self.progress.clone(), self.quiet, self.color);
        move |remark| {
            if !quiet {
                let mut talk = AutoStream::new(io::stderr(), color);
                // A closed stderr has no reader.
                progress.current().suspend(|| {
                    let _ = writeln!(talk, "{remark}");
                });
            }
        }
    }

    /// A warning for people.
    pub(crate) fn warn(&mut self, warning: impl Display) {
        self.say(warning_text(warning));
    }

    /// A message with the first of `total` items, one per line.
    pub(crate) fn say_list<I: Display>(
        &mut self,
        heading: impl Display,
        items: impl IntoIterator<Item = I>,
        total: u64,
    ) {
        let mut text = heading.to_string();
        let mut listed = 0;
        for item in items.into_iter().take(MAX_LISTED_ITEMS) {
            text.push_str(&format!("\n  {item}"));
            listed += 1;
        }
        if total > listed {
            text.push_str(&format!("\n  and {} more", total - listed));
        }
        self.say(text);
    }

    /// A hint for people, which may quote text from outside.
    pub(crate) fn hint(&mut self, hint: &str) {
        self.say(format_args!("hint: {}", visible(hint)));
    }

    /// Shows a progress bar on a terminal, unless `--quiet`.
    ///
    /// `total` is the number of `what`, if it is known. The bar is removed when the verb ends.
    pub(crate) fn progress(&mut self, total: Option<u64>, what: &'static str) -> ProgressHandle {
        let template = match total {
            Some(_) => "{wide_bar} {human_pos} of {human_len} {msg}, {eta} left",
            None => "{spinner} {human_pos} {msg}, {elapsed}",
        };
        self.bar(total, template, what)
    }

    /// As `progress`, for work counted in bytes.
    pub(crate) fn progress_bytes(&mut self, total: Option<u64>) -> ProgressHandle {
        let template = match total {
            Some(_) => "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}, {elapsed}",
        };
        self.bar(total, template, "")
    }

    /// As `progress`, with a text that changes.
    pub(crate) fn progress_said(&mut self) -> ProgressHandle {
        self.bar(None, "{spinner} {elapsed} {wide_msg}", "")
    }

    fn bar(&mut self, total: Option<u64>, template: &str, what: &'static str) -> ProgressHandle {
        let style = ProgressStyle::with_template(template).expect("the templates above are well formed");
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let bar = bar.with_style(style).with_message(what);
        self.progress.replace(bar.clone());
        ProgressHandle { bar, waiting: AtomicBool::new(!self.quiet), began: Instant::now() }
    }

    /// Prints an error with its causes and hints.
    pub(crate) fn report(&mut self, failure: &Error) {
        self.report_text(&ErrorReport::new(failure));
    }

    /// Prints an error that is only a sentence.
    pub(crate) fn fail(&mut self, message: impl Display) {
        self.report_text(&ErrorReport {
            message: message.to_string(),
            causes: Vec::new(),
            hints: Vec::new(),
        });
    }

    fn report_text(&mut self, report: &ErrorReport) {
        if self.is_json {
            return self.tell(format_args!("{}\n", error_line(report)));
        }
        let mut text = format!("{ERROR_STYLE}error:{ERROR_STYLE:#} {}\n", report.message);
        for cause in &report.causes {
            text.push_str(&format!("  cause: {cause}\n"));
        }
        for hint in &report.hints {
            text.push_str(&format!("{HINT_STYLE}hint:{HINT_STYLE:#} {hint}\n"));
        }
        self.tell(text);
    }

    /// Writes out all buffered data.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        let data = &mut self.data;
        if self.watched { self.progress.current().suspend(|| data.flush()) } else { data.flush() }
            .map_err(Error::Output)
    }

    /// Removes the bar: the work that it shows is done.
    pub(crate) fn end_progress(&mut self) {
        self.progress.current().finish_and_clear();
    }

    /// Ends the output: removes the bar and flushes.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.progress.current().finish_and_clear();
        self.flush()
    }

    fn show_if_watched(&mut self) -> Result<(), Error> {
        if self.watched { self.flush() } else { Ok(()) }
    }

    /// Prints a message after the data before it. Errors are ignored: a stdout that cannot be
    /// flushed fails again at the end, and a closed stderr has no reader.
    fn tell(&mut self, text: impl Display) {
        let _ = self.flush();
        let talk = &mut self.talk;
        self.progress.current().suspend(|| {
            let _ = write!(talk, "{text}");
        });
    }
}

/// The choice for stdout, with `Auto` decided.
fn stdout_color(color: ColorChoice) -> ColorChoice {
    AutoStream::new(io::stdout(), color).current_choice()
}

/// Writes binary data, and records that there is some.
struct RawOutput<'a> {
    output: &'a Stdout,
    is_used: &'a mut bool,
}

impl Write for RawOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.is_used |= !bytes.is_empty();
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Advances a progress bar, which appears when the work has taken a second.
pub(crate) struct ProgressHandle {
    bar: ProgressBar,
    waiting: AtomicBool,
    began: Instant,
}

impl ProgressHandle {
    /// Shows a text as progress.
    pub(crate) fn say(&self, words: String) {
        self.bar.set_message(words);
        self.inc(1);
    }

    /// Sets the number of bytes of all the work, which is known only now.
    pub(crate) fn set_length(&self, bytes: u64) {
        let template = "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        self.bar.set_length(bytes);
        self.bar.set_style(style);
    }

    /// Adds to the progress; callable from any thread.
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

/// A JSON object with the fields of `more` after its own.
pub(crate) fn with_fields(mut object: Value, more: &impl Serialize) -> Value {
    if let (Value::Object(fields), Ok(Value::Object(more))) = (&mut object, serde_json::to_value(more)) {
        fields.extend(more);
    }
    object
}

/// A number with its noun: `1 record`, `2 records`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let ending = match (count, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}

/// A text quoted for a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A text marked as a warning.
pub(crate) fn warning_text(warning: impl Display) -> String {
    format!("{WARNING_STYLE}warning:{WARNING_STYLE:#} {warning}")
}

/// `1 body`, `2 bodies`.
pub(crate) fn counted_bodies(count: u64) -> String {
    if count == 1 { "1 body".to_owned() } else { format!("{count} bodies") }
}

/// `1 index entry`, `2 index entries`.
pub(crate) fn counted_entries(count: u64) -> String {
    if count == 1 { "1 index entry".to_owned() } else { format!("{count} index entries") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let cases =
            [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (68_031_581, "68.0 MB"), (999_499, "999 kB")];
        for (bytes, text) in cases {
            assert_eq!(human_size(bytes), text);
        }
        assert_eq!(human_size(999_500), "1.00 MB");
        assert_eq!(human_size(200_000_000), "200 MB");
        assert_eq!(human_size(u64::MAX), "18.4 EB");
    }
}
