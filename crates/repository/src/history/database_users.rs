//! Detects whether another program has a database open.
//!
//! SQLite locks the file of a database in use. The kernel's list of locks shows this without
//! touching the file: opening and closing it here would drop this process's own POSIX locks. If
//! there is no such list, the answer is yes, which is the safe one.
//!
//! Processes that run this same program do not count: a writer holds varve's own lock, and others
//! only read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The kernel's list of file locks.
const LOCKS_FILE: &str = "/proc/locks";

/// Whether a process of another program has locked that file.
pub(super) fn is_open_elsewhere(database: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(database) else { return false };
    match fs::read_to_string(LOCKS_FILE) {
        Ok(list) => list.lines().any(|line| is_of_other(line, found.ino())),
        Err(_) => true,
    }
}

/// Whether a line of the list is a lock on `file` by another program. A line is `1: POSIX  ADVISORY
/// READ 12345 08:01:131 1073741826 1073742335`. The fifth word is the process id; the sixth holds
/// the device and the inode.
fn is_of_other(line: &str, file: u64) -> bool {
    let mut words = line.split_whitespace().filter(|word| *word != "->").skip(4);
    let (Some(process), Some(place)) = (words.next(), words.next()) else { return false };
    let is_file = place.rsplit(':').next().and_then(|number| number.parse().ok()) == Some(file);
    is_file && !is_this_program(process)
}

/// Whether a process runs the same program as this one. False if that cannot be determined.
fn is_this_program(process: &str) -> bool {
    let program = |process: &str| {
        let found = fs::metadata(format!("/proc/{process}/exe")).ok()?;
        Some((found.dev(), found.ino()))
    };
    process.parse() == Ok(std::process::id())
        || program(process).is_some_and(|other| program("self") == Some(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_others_on_that_file_count() {
        let line = "12: POSIX  ADVISORY  READ 1 08:01:131 1073741826 1073742335";
        assert!(is_of_other(line, 131));
        assert!(!is_of_other(line, 31));
        assert!(is_of_other("12: -> POSIX  ADVISORY  WRITE 1 08:01:131 0 EOF", 131));
        let own = format!("12: POSIX  ADVISORY  READ {} 08:01:131 0 EOF", std::process::id());
        assert!(!is_of_other(&own, 131));
        assert!(!is_of_other("", 131));
    }
}
