//! A pool of packers for reuse.
//!
//! A packer with a dictionary of several megabytes takes tens of milliseconds to create, and most
//! commits pack a page or two. If all packers are in use, a caller therefore first waits for one,
//! for as long as creating another would take.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use varve_store::StoreSettings;
use varve_warc::write::{Packer, Packing};

/// Maximum wait for a packer: the time that creating one with a dictionary may take.
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
    /// A pool for an archive with these settings.
    pub(super) fn new(settings: &StoreSettings) -> Self {
        let has_dictionary = matches!(settings.packing, Packing::Zstd { dictionary: Some(_), .. });
        let patience = if has_dictionary { MAX_PACKER_WAIT } else { Duration::ZERO };
        Self { state: Mutex::default(), returned: Condvar::new(), patience }
    }

    /// Takes an idle packer. `None` if the caller has to create one. In both cases the caller must
    /// call `give_back` or `give_up`.
    pub(super) fn take(&self) -> Option<Packer> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_worth_it = |state: &mut PackerPoolState| state.idle.is_empty() && state.in_use > 0;
        let waited = self.returned.wait_timeout_while(state, self.patience, is_worth_it);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.in_use += 1;
        state.idle.pop()
    }

    /// Reports that the caller did not create a packer after all.
    pub(super) fn give_up(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).in_use -= 1;
        self.returned.notify_one();
    }

    /// Returns a packer to the pool.
    pub(super) fn give_back(&self, packer: Packer) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_use -= 1;
        state.idle.push(packer);
        self.returned.notify_one();
    }
}
