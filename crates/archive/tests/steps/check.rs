//! What must be so after a death.

use std::collections::BTreeMap;
use std::path::Path;
use varve_archive::RepositoryError;

use varve_archive::history::{HistoryReader, HistoryWriter};
use varve_archive::verbs::audit::{AuditRequest, audit};
use varve_archive::verbs::audit_site::audit_site;
use varve_archive::verbs::gc::plan;
use varve_archive::verbs::log::ListCursor;
use varve_archive::{Archive, ArchivePaths, VersionId};

use varve_repository::search::{BuiltIndex, OpenedIndex, dump_search_index, open_search_index};

use crate::operations::{NEW, POLICY, SECRET, collect, export, seal_all, take_out};
use crate::scene;

type Pages = Vec<(String, String)>;

/// All that was acknowledged before the operation began.
pub(crate) struct Known {
    versions: BTreeMap<String, (VersionId, Pages)>,
    head: Option<VersionId>,
}

/// Killed, or finished.
pub(crate) struct Death<'a> {
    pub(crate) home: &'a Path,
    pub(crate) known: &'a Known,
    /// Whether the operation came to its end.
    pub(crate) done: bool,
    pub(crate) what: &'a str,
}

impl Known {
    pub(crate) fn of(home: &Path) -> Self {
        let history = scene::history(home);
        Self { versions: all(history.as_reader()), head: history.head().unwrap() }
    }
}

/// Every version with its pages, by message. A page whose body was purged is left out.
fn all(reader: &HistoryReader) -> BTreeMap<String, (VersionId, Pages)> {
    let versions = reader.catalog().versions(&Default::default(), ListCursor::first(99)).unwrap();
    let pages = |id| {
        let state =
            varve_archive::history::StatePages::new(reader.catalog(), Some(id)).map(|page| page.unwrap());
        let bodies =
            state.filter_map(|page| page.into_shown()).filter_map(|page| match reader.open_body(&page) {
                Err(RepositoryError::Absent { .. }) => None,
                _ => Some((page.url.clone(), scene::body(reader, &page))),
            });
        bodies.collect()
    };
    versions
        .into_iter()
        .map(|info| (info.version.message, (info.version.id, pages(info.version.id))))
        .collect()
}

impl Death<'_> {
    fn is_archive(&self) -> bool {
        ArchivePaths::new(self.home).is_archive()
    }

    /// Opens the archive for writing, and asserts that nothing acknowledged is lost or changed.
    fn open(&self) -> HistoryWriter {
        let history = scene::history(self.home);
        self.is_sound("opened");
        history
    }

    fn is_sound(&self, when: &str) {
        let mut found = Vec::new();
        if self.is_archive() {
            let archive = Archive::open(self.home).unwrap();
            audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| found.push(finding)).unwrap();
        } else {
            audit_site(self.home, false, &|_| {}, &mut |finding| found.push(finding)).unwrap();
        }
        assert!(found.is_empty(), "{}, {when}: {found:?}", self.what);
    }

    /// Asserts that a reader sees everything acknowledged before a writer has recovered the
    /// archive.
    fn can_be_read(&self) {
        let reader = scene::reader(self.home);
        let found = all(&reader);
        for (message, known) in &self.known.versions {
            assert_eq!(found.get(message), Some(known), "{}: read", self.what);
        }
    }

    /// Asserts that a reader finds the old state or the new one, complete, before a writer has
    /// recovered the archive. Otherwise the swap is pending, and the missing files are prepared.
    fn is_old_or_new(&self) {
        let ready = self.home.join("tmp/purge");
        if self.home.join("warc/pending-swap").exists() {
            assert!(ready.is_dir(), "{}", self.what);
            return;
        }
        let found = all(&scene::reader(self.home));
        for (message, (id, pages)) in &self.known.versions {
            let (id_found, pages_found) = &found[message];
            let rest: Pages = pages.iter().filter(|(url, _)| url != SECRET).cloned().collect();
            assert!(id_found == id && (pages_found == pages || *pages_found == rest), "{}: read", self.what);
        }
    }

    /// Asserts that the next commit works and descends from HEAD, and that no unfinished file is
    /// left.
    fn goes_on(&self, history: HistoryWriter) {
        let head = history.head().unwrap();
        let next = scene::commit_pages(&history, "next", &[("https://e.org/", "next")]);
        assert_eq!(next.parent, head, "{}", self.what);
        assert_eq!(history.head().unwrap(), Some(next.version), "{}", self.what);
        drop(history);
        self.is_sound("committed to");
        let mut left = Vec::new();
        unfinished(self.home, &mut left);
        assert!(left.is_empty(), "{}: {left:?}", self.what);
        if self.is_archive() {
            self.has_whole_search_index();
        }
    }
}

impl Death<'_> {
    /// Asserts that a search completes the index to what one made from all captures has.
    fn has_whole_search_index(&self) {
        let reader = scene::reader(self.home);
        let index = open_search_index(&reader, Some("a test")).unwrap();
        assert!(matches!(index, OpenedIndex::Stored { gap: None, .. }), "{}", self.what);
        let built = BuiltIndex::of(&reader).unwrap();
        let [stored, built] = [index.as_read(), built.as_read()].map(|index| {
            let mut lines = Vec::new();
            dump_search_index(index, &mut |line| lines.push(line.to_owned())).unwrap();
            lines
        });
        assert_eq!(stored, built, "{}", self.what);
    }
}

/// Names of unfinished files outside the folders that housekeeping empties.
fn unfinished(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(".tmp-") {
            found.push(path.display().to_string());
        } else if path.is_dir() && name != "blobs" {
            unfinished(&path, found);
        }
    }
}

/// The whole of the new version is there and HEAD points to it, or neither.
pub(crate) fn added(death: &Death<'_>) {
    if !death.known.versions.is_empty() {
        death.can_be_read();
    }
    let history = death.open();
    let mut found = all(history.as_reader());
    let new = found.remove("4");
    assert_eq!(found, death.known.versions, "{}", death.what);
    assert!(new.is_some() || !death.done, "{}", death.what);
    let wanted = new.as_ref().map_or(death.known.head, |(id, _)| Some(*id));
    assert_eq!(history.head().unwrap(), wanted, "{}", death.what);
    let is_old = new.is_none();
    if let Some((_, pages)) = new {
        assert_eq!(pages, NEW.map(|(url, body)| (url.to_owned(), body.to_owned())), "{}", death.what);
    }
    if !death.is_archive() && !death.known.versions.is_empty() {
        let is_there = death.home.join("deep/secret/.page_body").exists();
        assert_eq!(is_there, is_old, "{}: the tree holds the pages of HEAD", death.what);
    }
    death.goes_on(history);
}

/// HEAD points to one of the two versions; the working tree, which the audit looks at, is that of
/// HEAD.
pub(crate) fn moved(death: &Death<'_>) {
    death.can_be_read();
    let history = death.open();
    assert_eq!(all(history.as_reader()), death.known.versions, "{}", death.what);
    let (head, second) = (history.head().unwrap(), death.known.versions["2"].0);
    assert!(head == Some(second) || (head == death.known.head && !death.done), "{}", death.what);
    if !death.is_archive() && head == Some(second) {
        assert!(!death.home.join("deep").exists(), "{}: a page of another version is there", death.what);
    }
    death.goes_on(history);
}

/// A folder that is written again holds the version and nothing else.
pub(crate) fn exported(death: &Death<'_>) {
    death.can_be_read();
    export(death.home);
    let out = death.home.join("out");
    assert_eq!(std::fs::read(out.join("index.html")).unwrap(), b"second", "{}", death.what);
    assert_eq!(std::fs::read(out.join("gone.html")).unwrap(), b"g", "{}", death.what);
    assert!(!out.join("deep").exists(), "{}", death.what);
    death.goes_on(death.open());
}

/// Asserts that kept data is complete, that purged data is complete or absent, and that repeating
/// the operation succeeds.
pub(crate) fn collected(death: &Death<'_>) {
    let look = |when: &str| {
        let history = death.open();
        let found = all(history.as_reader());
        for (message, version) in &found {
            assert_eq!(Some(version), death.known.versions.get(message), "{}, {when}", death.what);
        }
        for kept in ["1", "3"] {
            assert!(found.contains_key(kept), "{}, {when}: {kept} is gone", death.what);
        }
        assert_eq!(history.head().unwrap(), death.known.head, "{}", death.what);
        assert!(found.contains_key("2") || !death.is_archive(), "{}", death.what);
        (history, found.contains_key("2"))
    };
    let (history, _) = look("after the death");
    if history.catalog().last_gc().unwrap().is_some() {
        assert!(is_clear(&history), "{}: it was not done, and is said to be", death.what);
    } else {
        assert!(!death.done, "{}: it is not said when it was done", death.what);
    }
    drop(history);
    collect(death.home);
    let (history, has_second) = look("done again");
    assert_eq!(has_second, death.is_archive(), "{}", death.what);
    death.goes_on(history);
}

/// Whether [`collect`] would find nothing to do.
fn is_clear(history: &HistoryWriter) -> bool {
    plan(history, &POLICY).unwrap().list.is_empty()
}

/// As [`taken_out`]; and where the page is gone, it is in no dictionary.
pub(crate) fn taken_out_of_dictionaries(death: &Death<'_>) {
    let holds = || {
        let mut files = vec![death.home.join("dictionary.zstd")];
        let silos = std::fs::read_dir(death.home.join("warc/0")).unwrap();
        files.extend(silos.map(|entry| entry.unwrap().path()));
        files.into_iter().filter_map(|file| std::fs::read(file).ok()).any(|bytes| {
            let stored = match bytes.strip_prefix(&[0x5d, 0x2a, 0x4d, 0x18]) {
                Some(rest) => &rest[4..4 + u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize],
                None => &bytes[..],
            };
            let dictionary = varve_warc::write::Dictionary::new(stored.to_vec());
            dictionary.plain().is_ok_and(|plain| plain.windows(10).any(|part| part == b"SECRETWORD"))
        })
    };
    death.is_old_or_new();
    let is_gone = {
        let history = death.open();
        !all(history.as_reader()).values().flat_map(|(_, pages)| pages).any(|(url, _)| url == SECRET)
    };
    assert!(!(is_gone && holds()), "{}: a dictionary holds it", death.what);
    taken_out(death);
    assert!(!holds(), "{}: a dictionary holds it after all", death.what);
}

/// The page is gone from all versions or from none, and nothing else is; doing it again takes it
/// out.
pub(crate) fn taken_out(death: &Death<'_>) {
    let without =
        |pages: &Pages| -> Pages { pages.iter().filter(|(url, _)| url != SECRET).cloned().collect() };
    let look = || {
        let history = death.open();
        let found = all(history.as_reader());
        assert_eq!(history.head().unwrap(), death.known.head, "{}", death.what);
        let rest: BTreeMap<_, _> =
            found.iter().map(|(message, (id, pages))| (message, (*id, without(pages)))).collect();
        let wanted: BTreeMap<_, _> = death
            .known
            .versions
            .iter()
            .map(|(message, (id, pages))| (message, (*id, without(pages))))
            .collect();
        assert_eq!(rest, wanted, "{}", death.what);
        assert!(history.catalog().tag("kept").unwrap().is_some(), "{}", death.what);
        found.values().flat_map(|(_, pages)| pages).filter(|(url, _)| url == SECRET).count()
    };
    death.is_old_or_new();
    let left = look();
    let before = death.known.versions.values().flat_map(|(_, pages)| pages);
    let all_of_it = before.filter(|(url, _)| url == SECRET).count();
    assert!(left == 0 || (left == all_of_it && !death.done), "{}: {left}", death.what);
    take_out(death.home);
    assert_eq!(look(), 0, "{}", death.what);
    death.goes_on(death.open());
}

/// The score is there or not.
pub(crate) fn scored(death: &Death<'_>) {
    death.can_be_read();
    let history = death.open();
    assert_eq!(all(history.as_reader()), death.known.versions, "{}", death.what);
    let scores = history.catalog().scores(&death.known.versions["2"].0).unwrap();
    assert!(scores.len() == 1 || (scores.is_empty() && !death.done), "{}", death.what);
    death.goes_on(history);
}

/// All versions are sealed or those that were before, and the log matches. A seal goes on, and a rebuild
/// makes the same files.
pub(crate) fn sealed(death: &Death<'_>) {
    death.can_be_read();
    let history = death.open();
    let (leaves, last) =
        (history.catalog().log_size().unwrap(), history.catalog().last_log_checkpoint().unwrap());
    assert!(!death.done || last.is_some_and(|last| last.size == leaves), "{}", death.what);
    drop(history);
    seal_all(death.home);
    death.is_sound("sealed");
    let files = || log_files(death.home);
    let before = files();
    std::fs::remove_dir_all(death.home.join("seal")).unwrap();
    varve_archive::verbs::rebuild::rebuild(&ArchivePaths::new(death.home), scene::opening(), &|_| {})
        .unwrap();
    assert_eq!(files(), before, "{}", death.what);
    death.goes_on(death.open());
}

/// The files of the log, by path.
fn log_files(home: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![home.join("seal")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => _ = files.insert(path.display().to_string(), std::fs::read(&path).unwrap()),
            }
        }
    }
    files
}
