//! An error as people read it: message, causes and hints.

use std::error::Error as _;

use clap::error::ErrorKind;
use varve_archive::verbs::key::ShownUrl;

use crate::error::Error;
use crate::error_hints;

/// The text of an error.
#[derive(Debug, PartialEq)]
pub(crate) struct ErrorReport {
    /// What failed, in one line.
    pub(crate) message: String,
    /// Why, nearest cause first.
    pub(crate) causes: Vec<String>,
    /// What to do about it.
    pub(crate) hints: Vec<String>,
}

impl ErrorReport {
    /// The text of `failure`.
    pub(crate) fn new(failure: &Error) -> Self {
        match failure {
            Error::Usage(mistake) => usage(mistake),
            _ => Self {
                message: failure.to_string(),
                causes: causes(failure),
                hints: error_hints::hints(failure),
            },
        }
    }
}

/// Message and causes of an error on one line, for JSON and remarks.
pub(crate) fn one_line(failure: &Error) -> String {
    let ErrorReport { message, causes, .. } = ErrorReport::new(failure);
    std::iter::once(message).chain(causes).collect::<Vec<_>>().join(": ")
}

fn causes(failure: &Error) -> Vec<String> {
    std::iter::successors(failure.source(), |cause| (*cause).source()).map(ToString::to_string).collect()
}

/// Converts a message of clap: its paragraphs are the message, tips, the usage line and a pointer to help.
fn usage(mistake: &clap::Error) -> ErrorReport {
    let text = hide_user_info(&mistake.render().to_string().replace('\'', "`"));
    let text = text.replace("invalid digit found in string", "write a whole number, such as 2");
    let mut paragraphs = text.split("\n\n").map(str::trim_end);
    let message = paragraphs.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let mut hints = Vec::new();
    for paragraph in paragraphs {
        let lines = paragraph.lines().map(str::trim);
        hints.extend(lines.filter_map(|line| {
            let tip = line.strip_prefix("tip: ").map(str::to_owned);
            // In a conflict, the usage line shows options together that exclude each other.
            let usage =
                line.strip_prefix("Usage: ").filter(|_| mistake.kind() != ErrorKind::ArgumentConflict);
            tip.or_else(|| usage.map(|usage| format!("usage is `{usage}`")))
        }));
    }
    ErrorReport { message, causes: Vec::new(), hints }
}

/// A text with the user information of every URL in it hidden: clap repeats arguments.
fn hide_user_info(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n', '`']);
    words.map(|word| ShownUrl(word).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn causes_and_hints_come_with_the_message() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let report = ErrorReport::new(&Error::Write { path: "man/varve.1".into(), source });
        assert_eq!(report.message, "could not write `man/varve.1`");
        assert_eq!(report.causes, ["permission denied"]);
        assert_eq!(report.hints, ["choose a place that you may write to"]);
    }
}
