//! The running browsers of this process, so that a process that must exit at once can kill them.
//!
//! A [`Browser`](super::Browser) that is dropped ends its process. A caller of
//! [`std::process::exit`], which runs no destructors, calls [`end_all`] first.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use varve_file::TemporarySubfolder;

/// How long the processes of a killed browser may take to exit: the kernel needs milliseconds.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// How often the end of these processes is polled.
pub(super) const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The process group and the profile of each browser.
type RunningBrowsers = Vec<(Pid, Arc<TemporarySubfolder>)>;

/// The running browsers; none after [`end_all`].
static RUNNING: Mutex<Option<RunningBrowsers>> = Mutex::new(Some(Vec::new()));

fn running() -> MutexGuard<'static, Option<RunningBrowsers>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a browser and registers it, under the lock that [`end_all`] takes; none after that.
pub(super) fn start<T>(
    start: impl FnOnce() -> io::Result<(T, Pid, Arc<TemporarySubfolder>)>,
) -> Option<io::Result<T>> {
    let mut running = running();
    let running = running.as_mut()?;
    Some(start().map(|(started, group, profile)| {
        running.push((group, profile));
        started
    }))
}

/// Removes a browser that has exited from the list.
pub(super) fn forget(group: Pid) {
    if let Some(running) = running().as_mut() {
        running.retain(|(other, _)| *other != group);
    }
}

/// Whether a process of a group is left that can still do something. A zombie that its
/// new parent has not waited for cannot, and may stay for seconds.
pub(super) fn is_alive(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let numbered =
        processes.flatten().filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    let mut stats = numbered.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let group = group.as_raw_nonzero().to_string();
    stats.any(|stat| is_alive_in(&stat, &group))
}

/// Whether a line of `/proc/PID/stat` is that of a process of a group that has not ended: behind
/// the name, which may hold anything, are the state, the parent and the group.
fn is_alive_in(stat: &str, group: &str) -> bool {
    let mut words = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let state = words.next();
    words.nth(1) == Some(group) && !matches!(state, Some("Z" | "X"))
}

/// Ends every browser of this process and removes its files. No browser can be started afterwards:
/// this is for a process that is about to end.
pub fn end_all() {
    let all = running().take().unwrap_or_default();
    for (group, _) in &all {
        // Fails if the group has already exited.
        let _ = kill_process_group(*group, Signal::KILL);
    }
    let until = Instant::now() + KILL_TIMEOUT;
    for (group, profile) in all {
        while Instant::now() < until && is_alive(group) {
            std::thread::sleep(EXIT_POLL_INTERVAL);
        }
        // Another thread may have removed it.
        let _ = profile.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zombies_and_other_groups_are_not_alive() {
        assert!(is_alive_in("12 (chrome) S 1 77 77 0 -1", "77"));
        assert!(is_alive_in("12 (a) Z 1 (b) R 1 77 77 0 -1", "77"));
        assert!(!is_alive_in("12 (chrome) Z 1 77 77 0 -1", "77"));
        assert!(!is_alive_in("12 (chrome) S 77 12 12 0 -1", "77"));
        assert!(!is_alive_in("", "77"));
    }
}
