//! The one clock of a run or a check: wall time for records, monotonic time for pauses and deadlines.
//!
//! The caller injects it. Nothing else in this crate asks what time it is.

use std::time::{Duration, Instant};

use varve_core::Moment;

/// The clock of a run or a check.
#[derive(Clone, Copy)]
pub struct RunClock<'a> {
    wall: &'a (dyn Fn() -> Moment + Sync),
    monotonic: &'a (dyn Fn() -> Instant + Sync),
}

impl<'a> RunClock<'a> {
    /// A clock that shows this wall time and measures pauses with the monotonic clock of the
    /// system.
    pub fn new(wall: &'a (dyn Fn() -> Moment + Sync)) -> Self {
        Self { wall, monotonic: &Instant::now }
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

#[cfg(test)]
pub(crate) use manual::ManualTime;

#[cfg(test)]
mod manual {
    //! A clock that a test sets.

    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use varve_core::Moment;

    use super::RunClock;

    /// The wall time and the monotonic time of a test, which pass together.
    pub(crate) struct ManualTime {
        began: Instant,
        passed_millis: AtomicU64,
    }

    impl ManualTime {
        pub(crate) fn new() -> Self {
            Self { began: Instant::now(), passed_millis: AtomicU64::new(0) }
        }

        pub(crate) fn advance(&self, time: Duration) {
            self.passed_millis.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
        }

        pub(crate) fn instant(&self) -> Instant {
            self.began + Duration::from_millis(self.passed_millis.load(Ordering::SeqCst))
        }

        pub(crate) fn moment(&self) -> Moment {
            Moment::from_micros(i64::try_from(self.passed_millis.load(Ordering::SeqCst)).unwrap() * 1000)
        }
    }

    impl<'a> RunClock<'a> {
        /// The clock of two functions.
        pub(crate) fn manual(
            wall: &'a (dyn Fn() -> Moment + Sync),
            monotonic: &'a (dyn Fn() -> Instant + Sync),
        ) -> Self {
            Self { wall, monotonic }
        }
    }
}
