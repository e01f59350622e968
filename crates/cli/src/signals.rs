//! Ctrl-C and termination signals.
//!
//! The first signal asks the work to stop in a consistent state. The second one ends the process at
//! once, together with its browsers, which would otherwise keep running. Signals within a short
//! time count as one: `timeout` sends one to a process and another to its group.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use varve_archive::verbs::capture::end_browsers;

use crate::exit_status::EXIT_INTERRUPTED;

/// Signals this soon after the first are not a second one.
const SIGNAL_DEBOUNCE: Duration = Duration::from_millis(150);

/// A flag that is set by the first signal. If signals cannot be handled, it is never set, and they
/// end the process as usual.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    let raised = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&raised);
    // Without this thread, signals end the process as usual.
    let _ = thread::Builder::new().name("signals".to_owned()).spawn(move || listen(&flag));
    raised
}

fn listen(flag: &AtomicBool) {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        let mut first = None;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            flag.store(true, Ordering::Relaxed);
            if first.get_or_insert_with(Instant::now).elapsed() > SIGNAL_DEBOUNCE {
                end_browsers();
                std::process::exit(EXIT_INTERRUPTED.into());
            }
        }
    });
}
