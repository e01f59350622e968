//! The verdict of a check on one URL, and how a response departs from its expectation.
//!
//! | verdict | the URL |
//! | --- | --- |
//! | `ok` | answered as expected |
//! | `changed` | answered with other content, another type or another redirect than expected |
//! | `broken` | answered with an error status (4xx or 5xx) where success was expected, or with redirects that end so or never |
//! | `unreachable` | gave no complete response |
//! | `skipped` | was not requested |

use std::fmt;

use varve_core::BodyId;
use varve_core::history::VerdictKind;

/// The result of comparing a response with its expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The response is as expected.
    Ok,
    /// The response differs from the expectation.
    Changed(Vec<Departure>),
    /// The response has an error status where success was expected.
    Broken(Vec<Departure>),
    /// There is no complete response, for this reason.
    Unreachable(String),
    /// The URL was not requested, for this reason.
    Skipped(String),
}

/// One way in which a response departs from its expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The status.
    Status {
        /// The accepted statuses.
        expected: &'static str,
        /// The status of the response.
        got: u16,
    },
    /// A redirect where none, or another, was expected.
    Redirect {
        /// The recorded type.
        expected: String,
        /// The status.
        got: u16,
    },
    /// The location of a redirect.
    Location {
        /// The recorded location.
        expected: Option<String>,
        /// The location of the response.
        got: Option<String>,
    },
    /// Redirects that end in an error status.
    RedirectEnd {
        /// The URL that they lead to.
        url: String,
        /// Its status.
        got: u16,
    },
    /// Redirects that end nowhere, and why.
    DeadEnd {
        /// The reason.
        reason: String,
    },
    /// A file that does not exist.
    NoFile,
    /// Fragments that name no element of the page.
    Fragments {
        /// The fragments, without `#`.
        missing: Vec<String>,
    },
    /// The media type.
    MediaType {
        /// The recorded type.
        expected: String,
        /// The type of the response, without parameters.
        got: Option<String>,
    },
    /// The number of bytes.
    Length {
        /// The recorded length.
        expected: u64,
        /// The length of the response.
        got: u64,
    },
    /// The SHA-256 of the bytes.
    Digest {
        /// The recorded digest.
        expected: BodyId,
        /// The digest of the response.
        got: BodyId,
    },
}

impl Departure {
    /// The expected value, in a few words.
    pub fn expected(&self) -> String {
        match self {
            Self::Status { expected, .. } => (*expected).to_owned(),
            Self::Redirect { expected, .. } | Self::MediaType { expected, .. } => expected.clone(),
            Self::Location { expected, .. } => place(expected.as_deref()),
            Self::RedirectEnd { .. } | Self::DeadEnd { .. } => "a redirect to a page".to_owned(),
            Self::Fragments { missing } => anchors(missing),
            Self::NoFile => "a file".to_owned(),
            Self::Length { expected, .. } => format!("{expected} bytes"),
            Self::Digest { expected, .. } => format!("sha256 {expected}"),
        }
    }

    /// The observed value, in a few words.
    pub fn got(&self) -> String {
        match self {
            Self::Status { got, .. } => format!("HTTP {got}"),
            Self::Redirect { got, .. } => redirect_type(*got),
            Self::MediaType { got, .. } => got.clone().unwrap_or_else(|| "no content type".to_owned()),
            Self::Location { got, .. } => place(got.as_deref()),
            Self::RedirectEnd { url, got } => format!("HTTP {got} at {url}"),
            Self::DeadEnd { reason } => reason.clone(),
            Self::Fragments { .. } => "no such element".to_owned(),
            Self::NoFile => "no such file".to_owned(),
            Self::Length { got, .. } => format!("{got} bytes"),
            Self::Digest { got, .. } => format!("sha256 {got}"),
        }
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, got) = (self.expected(), self.got());
        match self {
            Self::Status { .. } | Self::Redirect { .. } => {
                write!(formatter, "expected {expected}; got {got}")
            }
            Self::Location { .. } => write!(formatter, "moved from {expected} to {got}"),
            Self::RedirectEnd { url, got } => {
                write!(formatter, "redirects to {url}, which answers HTTP {got}")
            }
            Self::DeadEnd { reason } => write!(formatter, "{reason}"),
            Self::Fragments { .. } => write!(formatter, "no element is named {expected}"),
            Self::NoFile => write!(formatter, "there is no such file"),
            Self::MediaType { .. } => write!(formatter, "expected content type {expected}; got {got}"),
            Self::Length { .. } => write!(formatter, "content length changed from {expected} to {got}"),
            Self::Digest { .. } => write!(formatter, "content changed from {expected} to {got}"),
        }
    }
}

fn anchors(fragments: &[String]) -> String {
    fragments.iter().map(|name| format!("`#{name}`")).collect::<Vec<_>>().join(" or ")
}

fn place(location: Option<&str>) -> String {
    location.unwrap_or("nowhere").to_owned()
}

/// The value that the record of a redirect has as its media type.
pub(crate) fn redirect_type(status: u16) -> String {
    format!("X-{status}-Redirect")
}

impl Verdict {
    /// The verdict on a complete response that departs from its expectation in these ways.
    pub fn of(departures: Vec<Departure>) -> Self {
        let is_error = |departure: &Departure| {
            matches!(
                departure,
                Departure::Status { got: 400.., .. }
                    | Departure::RedirectEnd { .. }
                    | Departure::DeadEnd { .. }
                    | Departure::Fragments { .. }
                    | Departure::NoFile
            )
        };
        match departures.as_slice() {
            [] => Self::Ok,
            some if some.iter().any(is_error) => Self::Broken(departures),
            _ => Self::Changed(departures),
        }
    }

    /// The verdict without its details.
    pub fn kind(&self) -> VerdictKind {
        match self {
            Self::Ok => VerdictKind::Ok,
            Self::Changed(_) => VerdictKind::Changed,
            Self::Broken(_) => VerdictKind::Broken,
            Self::Unreachable(_) => VerdictKind::Unreachable,
            Self::Skipped(_) => VerdictKind::Skipped,
        }
    }

    /// Whether the URL did not answer as expected.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Changed(_) | Self::Broken(_) | Self::Unreachable(_))
    }

    /// The expected and the observed value, in a few words each; `None` if they do not differ.
    pub fn sides(&self) -> (Option<String>, Option<String>) {
        match self {
            Self::Changed(departures) | Self::Broken(departures) => {
                (Some(joined(departures, Departure::expected)), Some(joined(departures, Departure::got)))
            }
            Self::Unreachable(reason) => (None, Some(reason.clone())),
            Self::Ok | Self::Skipped(_) => (None, None),
        }
    }

    /// The reason in one line; `None` if the response is as expected.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Ok => None,
            Self::Changed(departures) | Self::Broken(departures) => {
                Some(joined(departures, Departure::to_string))
            }
            Self::Unreachable(reason) | Self::Skipped(reason) => Some(reason.clone()),
        }
    }
}

fn joined(departures: &[Departure], side: fn(&Departure) -> String) -> String {
    departures.iter().map(side).collect::<Vec<_>>().join("; ")
}
