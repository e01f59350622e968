//! Where the large public corpora lie, for tests that read them. They are not part of the repository.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A folder or file of the corpora: below what `VARVE_FIXTURES` names, else below `../shared/fixtures` beside the repository.
/// Where the corpora are absent there is none, and one line says that `test` is skipped.
pub fn fixtures(test: &str, path: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    let root = std::env::var_os("VARVE_FIXTURES").map_or_else(beside, PathBuf::from);
    if root.is_dir() {
        return Some(root.join(path));
    }
    // Not a print macro: those are captured, and a skipped test must be seen.
    let _ = writeln!(std::io::stderr(), "skipped {test}: no fixtures at {}", root.display());
    None
}
