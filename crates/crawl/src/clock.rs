//! The one clock of a run: wall time for records, monotonic time for pauses and deadlines.
//!
//! The caller injects it. Nothing else in the crawl asks what time it is.

use std::time::{Duration, Instant};

use varve_core::Moment;

/// The clock of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunClock<'a> {
    wall: &'a (dyn Fn() -> Moment + Sync),
    monotonic: fn() -> Instant,
}

impl<'a> RunClock<'a> {
    /// A clock that shows this wall time and measures pauses with the monotonic clock of the
    /// system.
    pub(crate) fn new(wall: &'a (dyn Fn() -> Moment + Sync)) -> Self {
        Self { wall, monotonic: Instant::now }
    }

    /// The wall time.
    pub(crate) fn moment(&self) -> Moment {
        (self.wall)()
    }

    /// The wall time after a pause.
    pub(crate) fn moment_after(&self, pause: Duration) -> Moment {
        let micros = i64::try_from(pause.as_micros()).unwrap_or(i64::MAX);
        Moment::from_micros(self.moment().micros().saturating_add(micros))
    }

    /// The monotonic time.
    pub(crate) fn instant(&self) -> Instant {
        (self.monotonic)()
    }

    /// The time since an instant.
    pub(crate) fn elapsed(&self, since: Instant) -> Duration {
        self.instant().saturating_duration_since(since)
    }
}
