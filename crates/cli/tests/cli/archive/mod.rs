//! Whole scenarios on archives, each in separate processes.

mod aardwarc;
mod auditing;
mod browser;
mod capture;
mod cookies;
mod damage;
mod errors;
mod exporting;
mod flips;
mod format;
mod full_disk;
mod kill;
mod losing;
mod oracles;
mod outages;
mod processes;
mod progress;
mod pywb;
mod read_only;
mod resume;
mod saying;
mod scenarios;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{stderr, stdout, varve};

/// A folder with an archive `museum` in it, where commands run.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new(options: &[&str]) -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        let mut words = vec!["init", "museum"];
        words.extend(options);
        let output = scene.run(&words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, content: &[u8]) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// varve, in the folder beside the archive.
    fn command(&self) -> Command {
        let mut command = varve();
        command.current_dir(self.folder.path()).env("VARVE_ARCHIVE", "museum");
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command().args(words).output().unwrap()
    }

    /// The output of a call that must succeed.
    fn data(&self, words: &[&str]) -> Vec<u8> {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
        output.stdout
    }

    /// The only line of output of a call that must succeed.
    fn line(&self, words: &[&str]) -> String {
        let text = String::from_utf8(self.data(words)).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        text.trim_end().to_owned()
    }

    fn run_with_input(&self, words: &[&str], input: &[u8]) -> Output {
        let mut command = assert_cmd::Command::from_std(self.command());
        command.args(words).write_stdin(input).output().unwrap()
    }

    /// Every silo, by number.
    fn silos(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![self.path("museum/warc")];
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if !path.ends_with("next-number") {
                found.push(path);
            }
        }
        found.sort();
        found
    }
}

/// Bytes that do not compress.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A small folder with a link, an empty folder, and two files of equal content.
fn small_tree(root: &Path) {
    std::fs::create_dir_all(root.join("sub/empty")).unwrap();
    std::fs::write(root.join("one.txt"), "one").unwrap();
    std::fs::write(root.join("sub/also one.txt"), "one").unwrap();
    std::os::unix::fs::symlink("../one.txt", root.join("sub/link")).unwrap();
}
