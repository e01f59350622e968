//! Packers that wait to be used again.
//!
//! One with a dictionary of megabytes takes tens of milliseconds to make ready, and most commits pack a page or two. So whoever finds
//! all of them in use waits a moment for one, as long as making another would take, before another is made.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use varve_store::StoreSettings;
use varve_warc::write::{Packer, Packing};

/// As long as making one with a dictionary may take.
const MAX_PACKER_WAIT: Duration = Duration::from_millis(40);

/// The packers of one archive.
pub(super) struct PackerPool {
    state: Mutex<PackerPoolState>,
    returned: Condvar,
    patience: Duration,
}

#[derive(Default)]
struct PackerPoolState {
    idle: Vec<Packer>,
    in_use: usize,
}

impl PackerPool {
    /// For an archive that is written so.
    pub(super) fn new(settings: &StoreSettings) -> Self {
        let has_dictionary = matches!(settings.packing, Packing::Zstd { dictionary: Some(_), .. });
        let patience = if has_dictionary { MAX_PACKER_WAIT } else { Duration::ZERO };
        Self { state: Mutex::default(), returned: Condvar::new(), patience }
    }

    /// One that nobody uses; none when another is to be made. Either is to be given back.
    pub(super) fn take(&self) -> Option<Packer> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_worth_it = |state: &mut PackerPoolState| state.idle.is_empty() && state.in_use > 0;
        let waited = self.returned.wait_timeout_while(state, self.patience, is_worth_it);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.in_use += 1;
        state.idle.pop()
    }

    /// None was made after all.
    pub(super) fn give_up(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).in_use -= 1;
        self.returned.notify_one();
    }

    /// Keeps one for the next.
    pub(super) fn give_back(&self, packer: Packer) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_use -= 1;
        state.idle.push(packer);
        self.returned.notify_one();
    }
}
