//! What a test needs from the machine, and the record of a test that could not run for its lack.
//!
//! The test harness knows only passed and failed. A test that cannot run here calls [`skip`] and
//! returns. The call appends a line to the file that `VARVE_SKIP_LOG` names, so that `./check`
//! counts the test as skipped and prints the reason. What `./check` has installed it lists in
//! `VARVE_REQUIRED`; the lack of such a thing fails the test.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Something that a test needs and that not every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// The public corpora, which are no part of the repository.
    Corpora,
    /// Python with `warcio`, `fastwarc`, pywb and PyYAML.
    Python,
    /// Chromium.
    Chromium,
    /// The right to mount file systems.
    Mount,
    /// Many open files at once.
    OpenFiles,
    /// A program on `PATH`.
    Program(&'static str),
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Corpora => "corpora",
            Self::Python => "python",
            Self::Chromium => "chromium",
            Self::Mount => "mount",
            Self::OpenFiles => "open-files",
            Self::Program(name) => name,
        })
    }
}

/// Records that the running test is skipped, because `requirement` is missing. The test returns
/// after this call.
///
/// # Panics
///
/// Panics when `VARVE_REQUIRED`, a list of words, names the requirement: it must not be missing.
pub fn skip(requirement: Requirement, reason: &str) {
    let required = std::env::var("VARVE_REQUIRED").unwrap_or_default();
    let is_required = required.split_whitespace().any(|word| word == requirement.to_string());
    assert!(!is_required, "`{requirement}` is required and missing: {reason}");
    let line = format!("{}: {reason}\n", running_test());
    let logged = std::env::var_os("VARVE_SKIP_LOG").is_some_and(|log| {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(log);
        // One write, so that lines of parallel tests do not mix.
        file.and_then(|mut file| file.write_all(line.as_bytes())).is_ok()
    });
    if !logged {
        // The harness captures what the print macros print, and a skip must be seen.
        let _ = write!(std::io::stderr(), "skipped {line}");
    }
}

/// The running test: its executable without the hash of the build, and its name.
fn running_test() -> String {
    let executable = std::env::current_exe().ok();
    let stem = executable.as_deref().and_then(Path::file_stem).and_then(|stem| stem.to_str());
    let suite = stem.map_or("?", |stem| stem.rsplit_once('-').map_or(stem, |(name, _)| name));
    // The harness names each test's thread after the test.
    format!("{suite}::{}", std::thread::current().name().unwrap_or("?"))
}

/// A file or folder of the public corpora: below the folder that `VARVE_FIXTURES` names, else below
/// `../shared/fixtures` beside the repository. Without the corpora the test is skipped.
pub fn fixtures(path: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    let root = std::env::var_os("VARVE_FIXTURES").map_or_else(beside, PathBuf::from);
    if root.is_dir() {
        return Some(root.join(path));
    }
    skip(Requirement::Corpora, &format!("there are no corpora at {}", root.display()));
    None
}

/// The Python that `VARVE_CHECK_PYTHON` names, which has `warcio`, `fastwarc`, pywb and PyYAML.
/// Without it the test is skipped.
pub fn python() -> Option<PathBuf> {
    let python = std::env::var_os("VARVE_CHECK_PYTHON").map(PathBuf::from);
    if python.is_none() {
        skip(Requirement::Python, "`VARVE_CHECK_PYTHON` names no Python with `warcio` and PyYAML");
    }
    python
}

/// The Chromium of this machine. Without one the test is skipped.
pub fn chromium() -> Option<PathBuf> {
    let places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let found = places.into_iter().map(PathBuf::from).find(|path| path.exists());
    if found.is_none() {
        skip(Requirement::Chromium, "there is no Chromium");
    }
    found
}

/// Whether a program can be started. Without it the test is skipped.
pub fn has_program(name: &'static str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok();
    if !found {
        skip(Requirement::Program(name), &format!("`{name}` is not installed"));
    }
    found
}
