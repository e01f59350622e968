//! Ctrl-C, and whatever else asks a process to end.
//!
//! The first time, the work is asked to stop and puts itself in order. The second time the process ends at once, as it
//! would have without any of this; only its browsers are taken along, which nobody else would end and sweep. Signals that come
//! together are one: `timeout` sends one to a process and another to its group, and nobody presses keys so quickly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use varve_archive::verbs::capture::end_browsers;

/// The exit code of a process that was interrupted, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// What comes so soon after the first is no second thought.
const TOGETHER: Duration = Duration::from_millis(150);

/// A flag that is raised when the process is asked to end. Where signals cannot be heard it never is, and they do what
/// they always did.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let raised = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&raised);
    // A thread that cannot be started is one that does not listen.
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
            if first.get_or_insert_with(Instant::now).elapsed() > TOGETHER {
                end_browsers();
                std::process::exit(INTERRUPTED.into());
            }
        }
    });
}
