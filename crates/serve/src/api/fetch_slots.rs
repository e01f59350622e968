//! How many requests of the API may fetch from the live web at a time.
//!
//! A slow web site must not occupy the threads that serve the archive. So requests that may fetch
//! have a number of threads of their own and a queue of limited length; beyond that they are refused
//! at once, with the time after which to try again.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::ApiError;

/// Jobs that fetch at the same time, each on a thread of the blocking pool.
pub(crate) const MAX_RUNNING_FETCHES: usize = 8;
/// Requests that wait for one of those threads, or prepare to.
const MAX_WAITING_FETCHES: usize = 32;

/// The places for requests that fetch.
#[derive(Clone)]
pub(crate) struct FetchSlots {
    /// One permit for each request that runs or waits.
    admission: Arc<Semaphore>,
    /// One permit for each job that runs.
    running: Arc<Semaphore>,
}

impl Default for FetchSlots {
    fn default() -> Self {
        Self::new(MAX_RUNNING_FETCHES, MAX_WAITING_FETCHES)
    }
}

/// The place of one request, which may run jobs one after another. It is given up when dropped.
pub(crate) struct AdmittedFetch {
    running: Arc<Semaphore>,
    _place: OwnedSemaphorePermit,
}

impl FetchSlots {
    fn new(running: usize, waiting: usize) -> Self {
        Self {
            admission: Arc::new(Semaphore::new(running + waiting)),
            running: Arc::new(Semaphore::new(running)),
        }
    }

    /// Admits a request, or refuses it if the queue is full.
    pub(crate) fn admit(&self) -> Result<AdmittedFetch, ApiError> {
        let place = Arc::clone(&self.admission).try_acquire_owned().map_err(|_| ApiError::overloaded())?;
        Ok(AdmittedFetch { running: Arc::clone(&self.running), _place: place })
    }
}

impl AdmittedFetch {
    /// Runs a job on the blocking pool when it is its turn. A job that has begun keeps its permit to
    /// its end, also if the client has left.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let permit = Arc::clone(&self.running).acquire_owned().await.map_err(|_| ApiError::internal())?;
        let ran = tokio::task::spawn_blocking(move || {
            let result = job();
            drop(permit);
            result
        });
        ran.await.map_err(|_| ApiError::internal())
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    #[tokio::test]
    async fn requests_beyond_the_queue_are_refused_until_one_ends() {
        let slots = FetchSlots::new(1, 1);
        let (release, gate) = std::sync::mpsc::channel::<()>();
        let first = slots.admit().unwrap();
        let running = tokio::spawn(async move { first.run(move || gate.recv().is_ok()).await });
        let waiting = slots.admit().unwrap();
        let refused = slots.admit().err().unwrap().into_response();
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()["retry-after"], "10");

        release.send(()).unwrap();
        assert!(running.await.unwrap().unwrap());
        assert_eq!(waiting.run(|| 7).await.unwrap(), 7);
        assert!(slots.admit().is_ok());
    }

    #[tokio::test]
    async fn a_job_that_panics_gives_its_place_back() {
        let slots = FetchSlots::new(1, 0);
        let panicked = slots.admit().unwrap().run(|| panic!("a bug")).await;
        assert_eq!(panicked.err().unwrap().into_response().status(), 500);
        assert_eq!(slots.admit().unwrap().run(|| 7).await.unwrap(), 7);
    }
}
