//! Ctrl-C, termination, hang-up of the terminal, and the loss of mapped memory.
//!
//! The first signal asks the work to stop in a consistent state. The second one ends the process at
//! once, together with its browsers, which would otherwise keep running. Signals within a short
//! time count as one: `timeout` sends one to a process and another to its group.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use varve_archive::verbs::capture::end_browsers;

#[cfg(target_os = "linux")]
use crate::exit_status::EXIT_FAILURE;
use crate::exit_status::EXIT_INTERRUPTED;

/// Signals this soon after the first are not a second one.
const SIGNAL_DEBOUNCE: Duration = Duration::from_millis(150);

/// The error of a process that lost mapped memory.
#[cfg(target_os = "linux")]
const LOST_MAPPING_ERROR: &[u8] = b"error: a file was cut while it was mapped into memory
  cause: another program changed the `-shm` file of a database, or its disk failed
hint: nothing that was acknowledged is lost; run the command again
";

/// From now on, the process ends with an error if it loses mapped memory.
///
/// SQLite maps the `-shm` file of a database that others use too. If another program truncates that
/// file, the next access raises SIGBUS, which would end the process without a word.
#[cfg(target_os = "linux")]
pub(crate) fn report_lost_mappings() {
    let handler: extern "C" fn(libc::c_int) = end_without_mapping;
    // SAFETY: the handler only makes calls that are safe in a signal handler, and never returns to
    // the access that failed. Overflows of the stack raise SIGSEGV, whose handler stays.
    unsafe {
        libc::signal(libc::SIGBUS, handler as *const () as libc::sighandler_t);
    }
}

#[cfg(target_os = "linux")]
extern "C" fn end_without_mapping(_signal: libc::c_int) {
    // SAFETY: both calls may be made in a signal handler. The bytes are static.
    unsafe {
        libc::write(libc::STDERR_FILENO, LOST_MAPPING_ERROR.as_ptr().cast(), LOST_MAPPING_ERROR.len());
        libc::_exit(EXIT_FAILURE.into());
    }
}

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
        let mut hangup = if is_hangup_ignored() { None } else { signal(SignalKind::hangup()).ok() };
        let mut first = None;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = received(&mut hangup) => {}
            }
            flag.store(true, Ordering::Relaxed);
            if first.get_or_insert_with(Instant::now).elapsed() > SIGNAL_DEBOUNCE {
                end_browsers();
                std::process::exit(EXIT_INTERRUPTED.into());
            }
        }
    });
}

/// Waits for the signal; forever, if it is not handled.
async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether the process was started with hang-ups ignored, as `nohup` does. It must stay so.
fn is_hangup_ignored() -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only writes the current one to `action`, which is valid
    // for writes of its type.
    let result = unsafe { libc::sigaction(libc::SIGHUP, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: the call succeeded, so it has initialised `action`.
    result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}
