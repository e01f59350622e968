//! Why a download failed, as Crystal records it: the name of a Python exception and its message.
//!
//! People clean projects up by these names, so failures that are recorded here use the names that
//! Crystal has for the same thing; the constructors know them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::python_json;
use crate::format_error::JsonProblem;

/// Why a download failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadError {
    /// The name of the exception's class.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its message, which may be empty.
    pub message: String,
}

impl DownloadError {
    /// An error of any class.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into() }
    }

    /// The host has no address.
    pub fn no_such_host() -> Self {
        Self::new("gaierror", "[Errno -2] Name or service not known")
    }

    /// Nobody listens.
    pub fn connection_refused() -> Self {
        Self::new("ConnectionRefusedError", "[Errno 111] Connection refused")
    }

    /// No answer in time.
    pub fn timed_out() -> Self {
        Self::new("TimeoutError", "timed out")
    }

    /// The server hung up before it said anything.
    pub fn disconnected() -> Self {
        Self::new("RemoteDisconnected", "Remote end closed connection without response")
    }

    /// The answer began with this line, which is no HTTP.
    pub fn bad_status_line(line: &str) -> Self {
        Self::new("BadStatusLine", line)
    }

    /// The answer came in pieces, and the last of them never came. This many bytes of it did.
    pub fn incomplete(bytes: u64) -> Self {
        Self::new("IncompleteRead", format!("IncompleteRead({bytes} bytes read)"))
    }

    /// URLs of this scheme are not downloaded.
    pub fn unknown_scheme(scheme: &str) -> Self {
        Self::new("URLError", format!("<urlopen error URL scheme \"{scheme}\" is not supported.>"))
    }

    /// Reads the text of the `error` column: nothing where it is `null`.
    pub fn read(text: &str) -> Result<Option<Self>, JsonProblem> {
        match JsonProblem::parse(text)? {
            Value::Null => Ok(None),
            value => serde_json::from_value(value).map(Some).map_err(|_| {
                JsonProblem::WrongForm("it is neither null nor an object with `type` and `message`")
            }),
        }
    }

    /// The text for the `error` column.
    pub fn to_json(&self) -> String {
        python_json::to_text(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_written_as_crystal_writes_them() {
        let text = r#"{"type": "gaierror", "message": "[Errno -2] Name or service not known"}"#;
        assert_eq!(DownloadError::no_such_host().to_json(), text);
        assert_eq!(DownloadError::read(text), Ok(Some(DownloadError::no_such_host())));
        assert_eq!(
            DownloadError::bad_status_line("GARBAGE\r\n").to_json(),
            r#"{"type": "BadStatusLine", "message": "GARBAGE\r\n"}"#
        );
        assert_eq!(
            DownloadError::unknown_scheme("gopher").to_json(),
            r#"{"type": "URLError", "message": "<urlopen error URL scheme \"gopher\" is not supported.>"}"#
        );
    }

    #[test]
    fn other_texts_are_distinguished() {
        assert_eq!(DownloadError::read("null"), Ok(None));
        assert_eq!(DownloadError::read("oops"), Err(JsonProblem::NotJson { column: 1 }));
        assert!(matches!(DownloadError::read("{}"), Err(JsonProblem::WrongForm(_))));
        assert!(matches!(DownloadError::read("[1]"), Err(JsonProblem::WrongForm(_))));
    }
}
