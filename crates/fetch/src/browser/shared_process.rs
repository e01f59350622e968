//! The one browser process of a run, which its pages share.
//!
//! It is started for the first page, and replaced when it has ended, hangs, or has loaded many
//! pages. A replaced process ends with the last page that is open in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::BrowserOptions;
use super::launch::{BrowserProcess, launch};
use crate::error::FetchError;

/// The process for the next page, with the number of pages that it was used for.
#[derive(Default)]
pub(super) struct SharedProcess(Mutex<Option<(Arc<BrowserProcess>, usize)>>);

impl SharedProcess {
    /// The process for one more page. Starts one where there is none that can be used.
    pub(super) fn acquire(
        &self,
        options: &BrowserOptions,
        user_agent: &str,
    ) -> Result<Arc<BrowserProcess>, FetchError> {
        let mut current = self.lock();
        if let Some((process, pages)) = current.as_mut()
            && process.pipe.is_open()
            && *pages < options.max_pages_per_process
        {
            *pages += 1;
            return Ok(Arc::clone(process));
        }
        let process = Arc::new(launch(options, user_agent)?);
        let replaced = current.replace((Arc::clone(&process), 1));
        // A process ends slowly: not while other pages wait for the lock.
        drop(current);
        drop(replaced);
        Ok(process)
    }

    /// Opens no further page in a process.
    pub(super) fn retire(&self, process: &Arc<BrowserProcess>) {
        let retired = self.lock().take_if(|(current, _)| Arc::ptr_eq(current, process));
        drop(retired);
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Arc<BrowserProcess>, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
