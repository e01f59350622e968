//! Reads a manifest line by line and rejects any entry that could lead out of the tree.
//!
//! A manifest is untrusted input. Each path must be relative and must not contain `..`, and each
//! entry must be in a folder that the manifest named before. So no path passes through a link or a
//! file, and this is known without looking at the disk. Because the entries are sorted, the reader
//! only has to remember the folder of the last entry.

use std::io::{BufRead, BufReader, Read};

use serde::Deserialize;

use super::ROOT_NAME;
use super::entry::{TreeEntry, TreeEntryKind};
use crate::tree_manifest_error::{MAX_LINE_BYTES, ManifestError, ManifestProblem};

/// Reads the entries of a manifest.
pub struct ManifestReader<R> {
    input: BufReader<R>,
    line: u64,
    /// The path of the last entry.
    last: Option<Vec<u8>>,
    /// The current folder: the last entry itself, or its parent. Empty for the tree itself.
    folder: Vec<u8>,
    buffer: Vec<u8>,
}

#[derive(Deserialize)]
struct First {
    format: String,
    number: u64,
}

impl<R: Read> ManifestReader<R> {
    /// Starts reading and checks the first line.
    pub fn new(content: R) -> Result<Self, ManifestError> {
        let input = BufReader::with_capacity(64 << 10, content);
        let mut reader = Self { input, line: 0, last: None, folder: Vec::new(), buffer: Vec::new() };
        if !reader.read_line().map_err(|error| match error {
            ManifestError::Line { .. } => ManifestError::Format,
            other => other,
        })? {
            return Err(ManifestError::Format);
        }
        match serde_json::from_slice::<First>(&reader.buffer) {
            Ok(first) if first.format != "varve-tree" => Err(ManifestError::Format),
            Ok(first) if first.number != 1 => Err(ManifestError::Number(first.number)),
            Ok(_) => Ok(reader),
            Err(_) => Err(ManifestError::Format),
        }
    }

    /// The next entry, after validation. `None` at the end.
    pub fn next_entry(&mut self) -> Result<Option<TreeEntry>, ManifestError> {
        if !self.read_line()? {
            return match self.last {
                Some(_) => Ok(None),
                None => Err(self.at_line(ManifestProblem::NoRoot)),
            };
        }
        let entry = TreeEntry::parse(&self.buffer).and_then(|entry| self.accept(&entry).map(|()| entry));
        match entry {
            Ok(entry) => {
                self.last = Some(entry.path.clone());
                Ok(Some(entry))
            }
            Err(problem) => Err(self.at_line(problem)),
        }
    }

    fn at_line(&self, problem: ManifestProblem) -> ManifestError {
        ManifestError::Line { line: self.line, problem }
    }

    /// Reads a line into the buffer, without its line end. Returns false at the end.
    fn read_line(&mut self) -> Result<bool, ManifestError> {
        self.buffer.clear();
        self.line += 1;
        let mut bounded = (&mut self.input).take(MAX_LINE_BYTES);
        bounded.read_until(b'\n', &mut self.buffer).map_err(ManifestError::Read)?;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            return Ok(true);
        }
        match self.buffer.len() as u64 {
            0 => Ok(false),
            length if length >= MAX_LINE_BYTES => Err(self.at_line(ManifestProblem::TooLong)),
            _ => Ok(true),
        }
    }

    /// Validates the entry at this position, and makes its folder, or the entry itself if it is
    /// one, the current folder.
    fn accept(&mut self, entry: &TreeEntry) -> Result<(), ManifestProblem> {
        let is_folder = matches!(entry.kind, TreeEntryKind::Folder { .. });
        if let TreeEntryKind::Link { target } = &entry.kind {
            check_target(target)?;
        }
        let Some(last) = &self.last else {
            return if entry.path == ROOT_NAME && is_folder { Ok(()) } else { Err(ManifestProblem::NoRoot) };
        };
        check_path(&entry.path)?;
        if last != ROOT_NAME && !parts(last).lt(parts(&entry.path)) {
            return Err(ManifestProblem::Order);
        }
        let parent = entry.path.iter().rposition(|byte| *byte == b'/').map_or(0, |end| end);
        if !is_within(&self.folder, &entry.path[..parent]) {
            return Err(ManifestProblem::NoFolder);
        }
        self.folder.truncate(parent);
        if is_folder {
            self.folder.clone_from(&entry.path);
        }
        Ok(())
    }
}

fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

/// Whether `folder` is `above` or a descendant of it. The empty path is the tree itself.
fn is_within(folder: &[u8], above: &[u8]) -> bool {
    above.is_empty() || folder.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn check_path(path: &[u8]) -> Result<(), ManifestProblem> {
    if path.first() == Some(&b'/') {
        return Err(ManifestProblem::Absolute);
    }
    if path.contains(&0) {
        return Err(ManifestProblem::Nul);
    }
    for part in parts(path) {
        match part {
            b"" => return Err(ManifestProblem::EmptyPart),
            b"." | b".." => return Err(ManifestProblem::Climbs),
            _ => {}
        }
    }
    Ok(())
}

fn check_target(target: &[u8]) -> Result<(), ManifestProblem> {
    match target {
        b"" => Err(ManifestProblem::NoTarget),
        target if target.contains(&0) => Err(ManifestProblem::Nul),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MANIFEST_HEADER: &str = r#"{"format":"varve-tree","number":1}"#;

    fn folder(path: &str) -> String {
        format!(r#"{{"path":{path:?},"kind":"folder","mode":"0755","mtime":"0.000000000"}}"#)
    }

    fn link(path: &str) -> String {
        format!(r#"{{"path":{path:?},"kind":"link","mtime":"0.000000000","target":"/etc"}}"#)
    }

    fn read(lines: &[String]) -> Result<Vec<String>, ManifestError> {
        let text = format!("{MANIFEST_HEADER}\n{}\n", lines.join("\n"));
        let mut reader = ManifestReader::new(text.as_bytes())?;
        let mut paths = Vec::new();
        while let Some(entry) = reader.next_entry()? {
            paths.push(String::from_utf8(entry.path).unwrap());
        }
        Ok(paths)
    }

    fn problem(lines: &[String]) -> (u64, ManifestProblem) {
        match read(lines) {
            Err(ManifestError::Line { line, problem }) => (line, problem),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn folders_come_before_what_is_in_them() {
        // `a-b` sorts before `a/b` as text, and after it part by part.
        let paths = [".", "a", "a/b", "a/b/c", "a/d", "a-b", "b", "b/x"];
        let lines: Vec<_> = paths.iter().map(|path| folder(path)).collect();
        assert_eq!(read(&lines).unwrap(), paths);
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        let refused = |line: String| problem(&[folder("."), line]);
        assert_eq!(refused(folder("/etc")), (3, ManifestProblem::Absolute));
        assert_eq!(refused(folder("..")), (3, ManifestProblem::Climbs));
        assert_eq!(refused(folder("../x")), (3, ManifestProblem::Climbs));
        assert_eq!(refused(folder("./x")), (3, ManifestProblem::Climbs));
        assert_eq!(refused(folder("")), (3, ManifestProblem::EmptyPart));
        assert_eq!(refused(folder("a//b")), (3, ManifestProblem::EmptyPart));
        assert_eq!(refused(folder("a/")), (3, ManifestProblem::EmptyPart));
        assert_eq!(refused(folder("a/b")), (3, ManifestProblem::NoFolder));
        let nul = folder("a").replace("\"a\"", "\"a\\u0000b\"");
        assert_eq!(refused(nul), (3, ManifestProblem::Nul));
    }

    #[test]
    fn nothing_passes_through_a_link() {
        assert_eq!(problem(&[folder("."), link("a"), folder("a/b")]), (4, ManifestProblem::NoFolder));
        assert_eq!(
            problem(&[folder("."), folder("a"), link("a/b"), link("a/b/c")]),
            (5, ManifestProblem::NoFolder)
        );
        assert_eq!(problem(&[folder("."), folder("a"), link("a")]), (4, ManifestProblem::Order));
        assert_eq!(
            problem(&[folder("."), folder("a"), link("b"), folder("a/c")]),
            (5, ManifestProblem::Order)
        );
        assert_eq!(
            problem(&[folder("."), folder("ab"), folder("ab/c"), folder("abc/d")]).1,
            ManifestProblem::NoFolder
        );
        assert_eq!(problem(&[folder("."), folder(".")]), (3, ManifestProblem::Climbs));
    }

    #[test]
    fn a_manifest_begins_with_its_format_and_the_tree() {
        let begins = |text: &str| ManifestReader::new(text.as_bytes()).err().map(|error| error.to_string());
        assert!(begins("").unwrap().starts_with("it does not begin"));
        assert!(begins("hello\n").unwrap().starts_with("it does not begin"));
        assert!(begins(&"x".repeat(200_000)).unwrap().starts_with("it does not begin"));
        assert_eq!(
            begins("{\"format\":\"varve-tree\",\"number\":2}\n").unwrap(),
            "its format is number 2, and this varve knows number 1"
        );
        assert_eq!(begins(crate::tree_manifest_error::FIRST_LINE), None);
        assert_eq!(problem(&[folder("a")]), (2, ManifestProblem::NoRoot));
        assert_eq!(problem(&[link(".")]), (2, ManifestProblem::NoRoot));
    }

    #[test]
    fn an_endless_line_is_not_held() {
        assert_eq!(problem(&[folder("."), folder(&"x".repeat(100_000))]), (3, ManifestProblem::TooLong));
    }

    proptest! {
        #[test]
        fn no_manifest_panics_and_none_climbs(lines in proptest::collection::vec("[./ab]{0,6}", 0..8)) {
            let mut all = vec![folder(".")];
            all.extend(lines.iter().enumerate().map(|(number, path)| {
                if number % 2 == 0 { folder(path) } else { link(path) }
            }));
            for path in read(&all).into_iter().flatten().skip(1) {
                prop_assert!(!path.starts_with('/') && path.split('/').all(|part| !["", ".", ".."].contains(&part)));
            }
        }
    }
}
