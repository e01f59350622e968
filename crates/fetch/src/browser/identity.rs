//! Checks that a program is a Chromium browser, so that a wrong path is reported before a run
//! begins.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Browsers based on Chromium have one of these words in their name.
const CHROMIUM_NAMES: [&str; 5] = ["chrom", "edge", "brave", "vivaldi", "opera"];
/// How long a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(15);

/// The kind of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Chromium, or made of it.
    Chromium,
    /// Something else.
    Other {
        /// What it said, or that it said nothing, as the end of a sentence.
        said: String,
    },
}

/// Asks a program for its version.
pub fn identify(executable: &Path) -> io::Result<Identity> {
    let text = version_of(executable)?.to_lowercase();
    if CHROMIUM_NAMES.iter().any(|name| text.contains(name)) {
        return Ok(Identity::Chromium);
    }
    let said = match text.lines().next().filter(|line| !line.trim().is_empty()) {
        Some(line) => format!("says `{}`", line.chars().take(80).collect::<String>().escape_debug()),
        None => "says nothing".to_owned(),
    };
    Ok(Identity::Other { said })
}

/// What a program says of its version. One that does not end is ended.
fn version_of(executable: &Path) -> io::Result<String> {
    let mut program = Command::new(executable);
    program.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = program.spawn()?;
    let until = Instant::now() + VERSION_TIMEOUT;
    while running.try_wait()?.is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    // It may have ended in between, which is as good.
    let _ = running.kill();
    Ok(String::from_utf8_lossy(&running.wait_with_output()?.stdout).into_owned())
}
