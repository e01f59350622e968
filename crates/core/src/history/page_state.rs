//! The state of a version: which pages there are, and what is known of each.
//!
//! A version says something about a page in three ways: it captured the page, it found the page
//! gone, or it could not reach the page. These are its *events*. The state of a page at a version
//! follows from the events of the version and its ancestors, newest first. This module owns that
//! rule; catalogs supply the events.

use serde::{Deserialize, Serialize};

use super::Capture;
use crate::{Moment, VersionId};

/// What is known of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The last response was the page.
    Present,
    /// The page is no longer there.
    Gone,
    /// The last request failed. The page may still be there.
    Unreachable {
        /// Why it failed.
        reason: String,
    },
}

impl Presence {
    /// What a response with this status says about its page.
    pub fn of_status(status: u16) -> Self {
        match status {
            404 | 410 => Self::Gone,
            408 | 425 | 429 | 500..=599 => Self::Unreachable { reason: format!("status {status}") },
            _ => Self::Present,
        }
    }
}

/// What a version says about a page that it did not capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AbsenceKind {
    /// The page is gone: a complete run or folder covers it and does not have it.
    Gone,
    /// The page was requested, and there was no response.
    Unreachable {
        /// Why.
        reason: String,
    },
}

impl From<AbsenceKind> for Presence {
    fn from(kind: AbsenceKind) -> Self {
        match kind {
            AbsenceKind::Gone => Self::Gone,
            AbsenceKind::Unreachable { reason } => Self::Unreachable { reason },
        }
    }
}

/// A page that a version found gone or unreachable without a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAbsence {
    /// The version.
    pub version: VersionId,
    /// The URL of the page.
    pub url: String,
    /// Its path in a working tree.
    pub path: String,
    /// When it was found so.
    pub time: Moment,
    /// Whether it is gone or unreachable.
    pub kind: AbsenceKind,
}

/// A page in the state of a version. All spellings of a URL with one path are one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageState {
    /// Its URL: that of `capture`, otherwise that of the event that decides.
    pub url: String,
    /// Its path in a working tree.
    pub path: String,
    /// Whether it is present, gone or unreachable.
    pub presence: Presence,
    /// The newest capture with the page: the page itself, or, if it is gone, what it was. `None` if
    /// there never was one.
    pub capture: Option<Capture>,
    /// The version whose event decides about the presence.
    pub said_by: VersionId,
    /// The response that decides about the presence, if it is not `capture`: for example a 404.
    pub evidence: Option<Capture>,
    /// Whether a purge removed `capture` from its version. Its body and headers must not be shown.
    pub is_hidden: bool,
}

impl PageState {
    /// The state of a page in a layout whose versions list all their pages.
    pub fn listed(version: VersionId, capture: Capture) -> Self {
        Self {
            url: capture.url.clone(),
            path: capture.path.clone(),
            presence: Presence::Present,
            capture: Some(capture),
            said_by: version,
            evidence: None,
            is_hidden: false,
        }
    }

    /// The capture, unless the page is gone: what a checkout writes and a diff compares.
    pub fn shown(&self) -> Option<&Capture> {
        self.capture.as_ref().filter(|_| self.presence != Presence::Gone)
    }

    /// Like [`shown`](Self::shown).
    pub fn into_shown(self) -> Option<Capture> {
        self.capture.filter(|_| self.presence != Presence::Gone)
    }
}

/// The number of pages in a state, each of which was captured at least once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Pages that are present.
    pub present: u64,
    /// Pages that could not be reached, and are shown as they were.
    pub unreachable: u64,
    /// Pages that are gone.
    pub gone: u64,
}

impl StateCounts {
    /// The number of pages that are shown.
    pub fn shown(&self) -> u64 {
        self.present + self.unreachable
    }

    /// Counts a page that was captured.
    pub fn add(&mut self, presence: &Presence) {
        match presence {
            Presence::Present => self.present += 1,
            Presence::Gone => self.gone += 1,
            Presence::Unreachable { .. } => self.unreachable += 1,
        }
    }

    /// Takes out a page that was counted.
    pub fn remove(&mut self, presence: &Presence) {
        let count = match presence {
            Presence::Present => &mut self.present,
            Presence::Gone => &mut self.gone,
            Presence::Unreachable { .. } => &mut self.unreachable,
        };
        *count = count.saturating_sub(1);
    }
}

/// Folds the events of a page, newest first, into its state. `E` stands for an event.
///
/// The first event decides about the presence. Of several failed requests in a row, the event
/// behind them decides if it says that the page is gone.
#[derive(Debug)]
pub struct PresenceFold<E> {
    presence: Option<Presence>,
    said_by: Option<VersionId>,
    evidence: Option<E>,
}

impl<E> Default for PresenceFold<E> {
    fn default() -> Self {
        Self { presence: None, said_by: None, evidence: None }
    }
}

/// The result of a [`PresenceFold`].
#[derive(Debug)]
pub struct FoldedPresence<E> {
    /// The presence.
    pub presence: Presence,
    /// The newest capture with the page.
    pub capture: Option<E>,
    /// The version whose event decides.
    pub said_by: VersionId,
    /// The deciding event, if it is not `capture`.
    pub evidence: Option<E>,
}

impl<E> PresenceFold<E> {
    /// Adds the next event: what it says, its version, and the event itself. Returns the state as
    /// soon as older events cannot change it.
    pub fn add(&mut self, says: Presence, version: VersionId, event: E) -> Option<FoldedPresence<E>> {
        match (&self.presence, says) {
            (None | Some(Presence::Unreachable { .. }), Presence::Gone) => {
                (self.presence, self.said_by, self.evidence) =
                    (Some(Presence::Gone), Some(version), Some(event));
                None
            }
            (None, says @ Presence::Unreachable { .. }) => {
                (self.presence, self.said_by, self.evidence) = (Some(says), Some(version), Some(event));
                None
            }
            (_, Presence::Present) => {
                let presence = self.presence.take().unwrap_or(Presence::Present);
                let said_by = self.said_by.unwrap_or(version);
                Some(FoldedPresence {
                    presence,
                    capture: Some(event),
                    said_by,
                    evidence: self.evidence.take(),
                })
            }
            (Some(_), _) => None,
        }
    }

    /// The state after the last event. `None` if there was no event.
    pub fn finish(self) -> Option<FoldedPresence<E>> {
        let Self { presence, said_by, evidence } = self;
        Some(FoldedPresence { presence: presence?, capture: None, said_by: said_by?, evidence })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn fold(statuses: &[u16]) -> Option<(Presence, Option<usize>, u128, Option<usize>)> {
        let mut fold = PresenceFold::default();
        let version = |number: usize| VersionId::new(Uuid::from_u128(number as u128));
        let folded = statuses
            .iter()
            .enumerate()
            .find_map(|(number, status)| fold.add(Presence::of_status(*status), version(number), number))
            .or_else(|| fold.finish())?;
        Some((folded.presence, folded.capture, folded.said_by.into_inner().as_u128(), folded.evidence))
    }

    fn failed(status: u16) -> Presence {
        Presence::Unreachable { reason: format!("status {status}") }
    }

    #[test]
    fn the_newest_event_decides_and_the_newest_page_is_shown() {
        assert_eq!(fold(&[]), None);
        assert_eq!(fold(&[200, 404]), Some((Presence::Present, Some(0), 0, None)));
        assert_eq!(fold(&[304, 404]), Some((Presence::Present, Some(0), 0, None)));
        assert_eq!(fold(&[410, 404, 200]), Some((Presence::Gone, Some(2), 0, Some(0))));
        assert_eq!(fold(&[503, 429, 200]), Some((failed(503), Some(2), 0, Some(0))));
        assert_eq!(fold(&[503, 429]), Some((failed(503), None, 0, Some(0))));
        assert_eq!(fold(&[503, 404, 500, 200]), Some((Presence::Gone, Some(3), 1, Some(1))));
        assert_eq!(fold(&[404]), Some((Presence::Gone, None, 0, Some(0))));
    }
}
