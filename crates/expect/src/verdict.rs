//! What a check finds of one URL.

use std::fmt;

use varve_core::BodyId;

/// The result of comparing a response with its expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is as expected.
    Met,
    /// There is a response, and it differs from the expectation.
    Drift(Vec<Departure>),
    /// There is no whole answer.
    Unreachable(String),
    /// It was not asked.
    Skipped(String),
}

/// One way in which an answer departs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The status.
    Status {
        /// Which would do.
        expected: &'static str,
        /// What it was.
        got: u16,
    },
    /// A redirect where none, or another, was expected.
    Redirect {
        /// The recorded type.
        expected: String,
        /// The status.
        got: u16,
    },
    /// Where a redirect leads.
    Location {
        /// Where it led.
        expected: Option<String>,
        /// Where it leads.
        got: Option<String>,
    },
    /// The media type.
    MediaType {
        /// The recorded type.
        expected: String,
        /// What it was, without parameters.
        got: Option<String>,
    },
    /// How many bytes there are.
    Length {
        /// The recorded length.
        expected: u64,
        /// What it was.
        got: u64,
    },
    /// What the bytes are.
    Digest {
        /// The recorded digest.
        expected: BodyId,
        /// What it was.
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
            Self::Length { expected, .. } => format!("{expected} bytes"),
            Self::Digest { expected, .. } => format!("sha256 {expected}"),
        }
    }

    /// What there was, in a few words.
    pub fn got(&self) -> String {
        match self {
            Self::Status { got, .. } => format!("HTTP {got}"),
            Self::Redirect { got, .. } => redirect_type(*got),
            Self::MediaType { got, .. } => got.clone().unwrap_or_else(|| "no content type".to_owned()),
            Self::Location { got, .. } => place(got.as_deref()),
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
            Self::MediaType { .. } => write!(formatter, "expected content type {expected}; got {got}"),
            Self::Length { .. } => write!(formatter, "content length changed from {expected} to {got}"),
            Self::Digest { .. } => write!(formatter, "content changed from {expected} to {got}"),
        }
    }
}

fn place(location: Option<&str>) -> String {
    location.unwrap_or("nowhere").to_owned()
}

/// What stands for a media type in the record of a redirect.
pub(crate) fn redirect_type(status: u16) -> String {
    format!("X-{status}-Redirect")
}

impl Verdict {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Drift(_) => "drift",
            Self::Unreachable(_) => "unreachable",
            Self::Skipped(_) => "skipped",
        }
    }

    /// Whether somebody should look at it.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Drift(_) | Self::Unreachable(_))
    }

    /// The expected and the observed value, in a few words each; `None` if they do not differ.
    pub fn sides(&self) -> (Option<String>, Option<String>) {
        let joined = |departures: &[Departure], side: fn(&Departure) -> String| {
            departures.iter().map(side).collect::<Vec<_>>().join("; ")
        };
        match self {
            Self::Drift(departures) => {
                (Some(joined(departures, Departure::expected)), Some(joined(departures, Departure::got)))
            }
            Self::Unreachable(reason) => (None, Some(reason.clone())),
            Self::Met | Self::Skipped(_) => (None, None),
        }
    }

    /// Why, in one line; nothing if all is as expected.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Met => None,
            Self::Drift(departures) => {
                Some(departures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            }
            Self::Unreachable(reason) | Self::Skipped(reason) => Some(reason.clone()),
        }
    }
}
