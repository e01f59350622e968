//! The pause after failures: doubles with each consecutive failure, up to a limit, with jitter.
//!
//! The upper half of a pause is random, so that hosts which failed together are not retried
//! together. The numbers come from a seed, so that a schedule can be repeated in tests.

use std::time::Duration;

/// A growing pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The pause after the first failure.
    pub first: Duration,
    /// The maximum.
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_secs(2), longest: Duration::from_secs(300) }
    }
}

impl Backoff {
    /// The delay after `failures` failures in a row: random, between half of the full delay and all
    /// of it.
    pub(super) fn pause(&self, failures: u32, chance: &mut Jitter) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let whole = self.first.saturating_mul(1 << doublings).min(self.longest);
        let half = whole / 2;
        half + chance.up_to(whole - half)
    }
}

/// Numbers from a seed: SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Jitter(u64);

impl Jitter {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        let micros = u64::try_from(most.as_micros()).unwrap_or(u64::MAX).saturating_add(1);
        Duration::from_micros(self.next() % micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_maximum_with_jitter() {
        let backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(60) };
        let mut chance = Jitter::new(7);
        for (failures, whole) in [(1, 2), (2, 4), (3, 8), (5, 32), (6, 60), (u32::MAX, 60)] {
            for _ in 0..100 {
                let pause = backoff.pause(failures, &mut chance);
                assert!(
                    pause >= Duration::from_secs(whole) / 2 && pause <= Duration::from_secs(whole),
                    "{pause:?}"
                );
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_pauses() {
        let pauses = |seed| {
            let mut chance = Jitter::new(seed);
            (0..20).map(|_| Backoff::default().pause(4, &mut chance)).collect::<Vec<_>>()
        };
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
    }

    #[test]
    fn the_largest_pause_does_not_overflow() {
        let endless = Backoff { first: Duration::MAX, longest: Duration::MAX };
        let _ = endless.pause(3, &mut Jitter::new(0));
    }
}
