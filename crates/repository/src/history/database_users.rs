//! Does another program have a database open?
//!
//! SQLite marks a database that is in use by a lock on its file. The system's list of locks tells of it without touching
//! the file: opening and closing it here would take away this process's own locks, as POSIX has it. Where there is no
//! such list, the answer is yes, which is the careful one.
//!
//! Processes that run this same program do not count: one that writes holds a lock of our own, and others only read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where the system lists its locks.
const LOCKS_FILE: &str = "/proc/locks";

/// Whether a process of another program has locked that file.
pub(super) fn is_open_elsewhere(database: &Path) -> bool {
    let Ok(found) = fs::metadata(database) else { return false };
    match fs::read_to_string(LOCKS_FILE) {
        Ok(list) => list.lines().any(|line| is_of_other(line, found.ino())),
        Err(_) => true,
    }
}

/// A line is `1: POSIX  ADVISORY  READ 12345 08:01:131 1073741826 1073742335`: the fifth word is the process, the sixth
/// the device and the number of the file.
fn is_of_other(line: &str, file: u64) -> bool {
    let mut words = line.split_whitespace().filter(|word| *word != "->").skip(4);
    let (Some(process), Some(place)) = (words.next(), words.next()) else { return false };
    let is_file = place.rsplit(':').next().and_then(|number| number.parse().ok()) == Some(file);
    is_file && !is_this_program(process)
}

/// Whether a process runs the program that this one runs; what cannot be known is not so.
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
