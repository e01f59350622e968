//! Search finds what a naive search over all texts finds, in any history, and its index is a cache.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use varve_archive::history::{HistoryReader, VersionPages};
use varve_archive::verbs::blame::{BlameUnit, Request as BlameRequest, blame};
use varve_archive::verbs::checkout::checkout;
use varve_archive::verbs::rebuild::rebuild;
use varve_archive::verbs::search::{
    HitHistory, OpenedIndex, Report, Request, SearchQuery, SearchScope, open_search_index, search,
};
use varve_archive::{ArchivePaths, VersionId};
use varve_repository::search::{BuiltIndex, dump_search_index, page_text};
use varve_search::words_of;

use crate::purge::{request as purge_request, rewrite};
use crate::scene::*;

/// Words that share beginnings, diacritics and letters, and scripts without spaces.
const VOCABULARY: [&str; 16] = [
    "a",
    "ab",
    "Ab-c",
    "café",
    "CAFE",
    "the",
    "roof",
    "roofs",
    "x1",
    "検索",
    "索",
    "検",
    "한국",
    "Straße",
    "ไทย",
    "b.",
];

/// Numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn passage(&mut self) -> String {
        let count = self.below(5) + 1;
        let words: Vec<&str> = (0..count).map(|_| VOCABULARY[self.below(VOCABULARY.len())]).collect();
        words.join(" ")
    }
}

type Site = BTreeMap<String, (String, Vec<String>)>;

fn html((title, passages): &(String, Vec<String>)) -> String {
    let passages: String = passages.iter().map(|passage| format!("<p>{passage}</p>")).collect();
    format!("<title>{title}</title>{passages}")
}

/// Changes some pages of a site: edits, insertions, moves, removed and new pages.
fn change(site: &mut Site, random: &mut Random) {
    for _ in 0..random.below(4) + 1 {
        let url = format!("https://e.org/{}", random.below(4));
        if random.below(6) == 0 {
            site.remove(&url);
            continue;
        }
        let (title, passages) = site.entry(url).or_default();
        if random.below(3) == 0 {
            *title = random.passage();
        }
        match random.below(4) {
            0 if !passages.is_empty() => drop(passages.remove(random.below(passages.len()))),
            1 if passages.len() > 1 => passages.rotate_left(1),
            2 if !passages.is_empty() => {
                let place = random.below(passages.len());
                passages[place] = random.passage();
            }
            _ => passages.insert(random.below(passages.len() + 1), random.passage()),
        }
    }
}

/// A history with branches: versions in the order of writing, and HEAD.
fn make_history(root: &Path, random: &mut Random) -> (Vec<VersionId>, VersionId) {
    make(Kind::Archive, root);
    let writer = history(root);
    let mut sites: Vec<(VersionId, Site)> = Vec::new();
    // There is always something to commit.
    let mut site = Site::from([("https://e.org/home".to_owned(), ("home".to_owned(), Vec::new()))]);
    for number in 0..random.below(7) + 2 {
        change(&mut site, random);
        if let (0, Some((version, other))) =
            (random.below(4), sites.get(random.below(sites.len().max(1))).cloned())
        {
            checkout(&writer, version, &mut |_| {}).expect("checked out");
            site = other;
            change(&mut site, random);
        }
        let pages: Vec<(String, String)> = site.iter().map(|(url, page)| (url.clone(), html(page))).collect();
        let borrowed: Vec<_> = pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
        let version = commit_pages(&writer, &format!("version {number}"), &borrowed).version;
        sites.push((version, site.clone()));
    }
    let head = writer.head().expect("read").expect("a version");
    (sites.into_iter().map(|(version, _)| version).collect(), head)
}

/// The words of a page, as the naive search reads them.
fn naive_words(body: &str) -> Vec<String> {
    let text = page_text(body.as_bytes(), Some("text/html")).expect("a page");
    text.passages.iter().flat_map(|passage| words_of(&passage.text)).collect()
}

fn has_phrase(url: &str, words: &[String], phrase: &[String]) -> bool {
    let contains = |words: &[String]| words.windows(phrase.len()).any(|window| window == phrase);
    contains(words) || contains(&words_of(url))
}

/// URLs of pages, each with the words of its text.
type PageWordLists = Vec<(String, Vec<String>)>;

/// All texts of all versions: for each version what it captured, and what its state shows.
struct Naive {
    captured: Vec<(VersionId, PageWordLists)>,
    states: Vec<(VersionId, PageWordLists)>,
}

impl Naive {
    fn of(reader: &HistoryReader, versions: &[VersionId]) -> Self {
        let captured = |version: &VersionId| {
            let pages = VersionPages::new(reader.catalog(), Some(*version)).map(|page| page.expect("read"));
            let words = pages.map(|page| (page.url.clone(), naive_words(&body(reader, &page))));
            (*version, words.collect())
        };
        let state = |version: &VersionId| {
            let pages = contents(reader, *version).into_iter();
            (*version, pages.map(|(url, body)| (url, naive_words(&body))).collect())
        };
        Self {
            captured: versions.iter().map(captured).collect(),
            states: versions.iter().map(state).collect(),
        }
    }

    /// For each page with the phrase, the first and the last version that captured it so.
    fn ever(&self, phrase: &[String]) -> BTreeMap<String, (VersionId, VersionId)> {
        let mut found = BTreeMap::new();
        for (version, pages) in &self.captured {
            for (url, _) in pages.iter().filter(|(url, words)| has_phrase(url, words, phrase)) {
                found.entry(url.clone()).or_insert((*version, *version)).1 = *version;
            }
        }
        found
    }

    fn state(&self, version: VersionId, phrase: &[String]) -> BTreeSet<String> {
        let (_, pages) = self.states.iter().find(|(id, _)| *id == version).expect("a version");
        let hits = pages.iter().filter(|(url, words)| has_phrase(url, words, phrase));
        hits.map(|(url, _)| url.clone()).collect()
    }

    /// A phrase that some text has, or that some text nearly has.
    fn phrase(&self, random: &mut Random) -> Vec<String> {
        let all: Vec<_> = self.captured.iter().flat_map(|(_, pages)| pages).collect();
        let (_, words) = all[random.below(all.len())];
        let length = random.below(6) + 1;
        if words.len() < length {
            return words_of("roof a");
        }
        let start = random.below(words.len() - length + 1);
        let mut phrase = words[start..start + length].to_vec();
        if random.below(4) == 0 {
            let place = random.below(length);
            phrase.splice(place..=place, words_of(VOCABULARY[random.below(VOCABULARY.len())]));
        }
        phrase
    }
}

fn ask(reader: &HistoryReader, index: &OpenedIndex, text: &str, scope: SearchScope) -> Report {
    let request = Request {
        query: SearchQuery::parse(text).expect("a query"),
        scope,
        site: None,
        kind: None,
        since: None,
        until: None,
        limit: 100,
    };
    search(reader, index.as_read(), &request).expect("searched")
}

fn stored_index(reader: &HistoryReader) -> OpenedIndex {
    let index = open_search_index(reader, Some("a test")).expect("opened");
    assert!(matches!(index, OpenedIndex::Stored { gap: None, .. }));
    index
}

fn urls(report: &Report) -> BTreeSet<String> {
    report.hits.iter().map(|hit| hit.capture.url.clone()).collect()
}

fn dump(index: &dyn varve_core::search_index::SearchIndexRead) -> Vec<String> {
    let mut lines = Vec::new();
    dump_search_index(index, &mut |line| lines.push(line.to_owned())).expect("read");
    lines
}

fn scratch() -> tempfile::TempDir {
    varve_testkit::memory_folder()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn search_equals_a_naive_search_over_all_texts_of_all_versions(seed in 1u64..) {
        let mut random = Random(seed);
        let root = scratch();
        let (versions, head) = make_history(root.path(), &mut random);
        let reader = reader(root.path());
        let index = stored_index(&reader);
        let naive = Naive::of(&reader, &versions);
        for _ in 0..120 {
            let phrase = naive.phrase(&mut random);
            let text = format!("\"{}\"", phrase.join(" "));
            let found = ask(&reader, &index, &text, SearchScope::Ever);
            let in_head = naive.state(head, &phrase);
            let ever = found.hits.iter().map(|hit| {
                let HitHistory { first, last, is_current, changes } = hit.history.as_ref().expect("a history");
                assert_eq!(*is_current, in_head.contains(&hit.capture.url), "{text}");
                assert_eq!((changes[0].appeared, changes[0].seen), (true, *first), "{text}");
                (hit.capture.url.clone(), (first.version.expect("one"), last.version.expect("one")))
            });
            prop_assert_eq!(ever.collect::<BTreeMap<_, _>>(), naive.ever(&phrase), "{}", text);
            let version = versions[random.below(versions.len())];
            let then = ask(&reader, &index, &text, SearchScope::State(version));
            prop_assert_eq!(urls(&then), naive.state(version, &phrase), "{}", text);
        }
        // The index is the same when it is made from all captures at once.
        let built = BuiltIndex::of(&reader).expect("built");
        prop_assert_eq!(dump(index.as_read()), dump(built.as_read()));
    }
}

#[test]
fn words_exclusions_and_branches_are_as_in_the_state_of_the_version() {
    let root = scratch();
    let root = root.path();
    make(Kind::Archive, root);
    let writer = history(root);
    let first = commit_pages(&writer, "1", &[("https://e.org/a", "<p>old slate roof</p>")]).version;
    let second = commit_pages(&writer, "2", &[("https://e.org/a", "<p>new tile roof</p>")]).version;
    checkout(&writer, first, &mut |_| {}).expect("moved");
    let branch = commit_pages(&writer, "3", &[("https://e.org/b", "<p>slate</p>")]).version;
    drop(writer);
    let reader = reader(root);
    let index = stored_index(&reader);
    let found = |text: &str, version| urls(&ask(&reader, &index, text, SearchScope::State(version))).len();
    assert_eq!(
        (found("roof slate", first), found("roof slate", second), found("roof slate", branch)),
        (1, 0, 0)
    );
    assert_eq!((found("roof -tile", first), found("roof -tile", second)), (1, 0));
    assert_eq!((found("slate", branch), found("til*", second), found("til*", first)), (1, 1, 0));
    // On the main line the words vanish by a change, and on the branch with the page.
    let ever = ask(&reader, &index, "\"slate roof\"", SearchScope::Ever);
    let history = ever.hits[0].history.as_ref().expect("a history");
    let changes: Vec<_> =
        history.changes.iter().map(|change| (change.appeared, change.seen.version)).collect();
    assert_eq!(changes, [(true, Some(first)), (false, Some(second)), (false, Some(branch))]);
    assert!(!history.is_current);
}

#[test]
fn the_index_is_made_again_wherever_it_is_lost_behind_or_damaged() {
    let root = scratch();
    let root = root.path();
    make(Kind::Archive, root);
    let commit = |message: &str| {
        let body = format!("<p>text {message} of all</p>");
        commit_pages(
            &history(root),
            message,
            &[("https://e.org/a", &body), ("https://e.org/b", "<p>same</p>")],
        )
    };
    commit("one");
    let file = root.join("search.db");
    assert!(!file.exists(), "a commit leaves the index to the next search");
    drop(stored_index(&reader(root)));
    let early = std::fs::read(&file).expect("a search writes the index");
    commit("two");
    let whole = dump(stored_index(&reader(root)).as_read());
    assert_eq!(whole.len(), 3);
    std::fs::write(&file, early).expect("written");
    assert_eq!(dump(stored_index(&reader(root)).as_read()), whole, "behind");
    std::fs::remove_file(&file).expect("removed");
    assert_eq!(dump(stored_index(&reader(root)).as_read()), whole, "lost");
    std::fs::write(&file, "not a database").expect("written");
    assert_eq!(dump(stored_index(&reader(root)).as_read()), whole, "damaged");
    for name in ["search.db", "catalog.db", "HEAD"] {
        std::fs::remove_file(root.join(name)).expect("removed");
    }
    rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
    assert!(file.exists());
    assert_eq!(dump(stored_index(&reader(root)).as_read()), whole, "rebuilt");
    commit("three");
    assert_eq!(dump(stored_index(&reader(root)).as_read()).len(), 4);
}

#[test]
fn without_the_right_to_write_a_temporary_index_is_searched() {
    for kind in KINDS {
        let root = scratch();
        let root = root.path();
        make(kind, root);
        commit_pages(&history(root), "1", &[("https://e.org/a", "<p>slate roof</p>")]);
        let _ = std::fs::remove_file(root.join("search.db"));
        let reader = reader(root);
        let index = open_search_index(&reader, None).expect("opened");
        assert!(matches!(index, OpenedIndex::Built(_)));
        let head = reader.head().expect("read").expect("a version");
        for scope in [SearchScope::Ever, SearchScope::State(head)] {
            assert_eq!(ask(&reader, &index, "roof", scope).hits.len(), 1, "{kind:?}");
        }
        assert!(!root.join("search.db").exists());
    }
}

#[test]
fn purged_text_is_neither_found_nor_in_the_file() {
    let root = scratch();
    let root = root.path();
    make(Kind::Archive, root);
    let secret = "<p>the secretword of the vault</p>";
    let pages = [("https://e.org/secret", secret), ("https://e.org/a", "<p>public</p>")];
    commit_pages(&history(root), "1", &pages);
    rewrite(root, &purge_request(&["https://e.org/secret"]));
    assert!(!root.join("search.db").exists(), "nothing is left of the old index");
    let reader = reader(root);
    let index = stored_index(&reader);
    assert!(ask(&reader, &index, "secretword", SearchScope::Ever).hits.is_empty());
    assert_eq!(ask(&reader, &index, "public", SearchScope::Ever).hits.len(), 1);
    assert!(dump(index.as_read()).iter().all(|line| !line.contains("secretword")));
}

#[test]
fn blame_follows_passages_through_moves_returns_and_branches() {
    for kind in KINDS {
        let root = scratch();
        let root = root.path();
        make(kind, root);
        let writer = history(root);
        let commit = |message: &str, body: &str| {
            commit_pages(&writer, message, &[("https://e.org/", body), ("https://e.org/other", message)])
                .version
        };
        let first = commit("1", "<title>t</title><p>one<p>two");
        let second = commit("2", "<title>t</title><p>two<p>one<p>new");
        commit("3", "<title>t</title><p>new");
        let fourth = commit("4", "<title>t</title><p>one<p>new<p>new<p>last");
        let origins = |version, unit| {
            let request = BlameRequest { url: "https://e.org/".to_owned(), version, unit };
            let report = blame(writer.as_reader(), &request).expect("blamed");
            let item =
                |item: &varve_archive::verbs::blame::Attributed<varve_archive::verbs::blame::Passage>| {
                    let origin = report.origins[item.origin].version.as_ref().expect("a version");
                    (item.item.text.clone(), origin.id)
                };
            report.items.iter().map(item).collect::<Vec<_>>()
        };
        let named = |list: &[(&str, VersionId)]| -> Vec<(String, VersionId)> {
            list.iter().map(|(text, version)| ((*text).to_owned(), *version)).collect()
        };
        let wanted = [("t", first), ("one", first), ("new", second), ("new", fourth), ("last", fourth)];
        assert_eq!(origins(fourth, BlameUnit::Passages), named(&wanted), "{kind:?}");
        assert_eq!(
            origins(second, BlameUnit::Passages)[1..],
            named(&[("two", first), ("one", first), ("new", second)])
        );
        assert_eq!(origins(first, BlameUnit::Lines).len(), 1);
        checkout(&writer, first, &mut |_| {}).expect("moved");
        let branch = commit("5", "<title>t</title><p>new");
        assert_eq!(origins(branch, BlameUnit::Passages), named(&[("t", first), ("new", branch)]), "{kind:?}");
    }
}

#[test]
fn blame_reports_captures_that_cannot_be_read() {
    let root = scratch();
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let commit = |body: &str| commit_pages(&writer, "v", &[("https://e.org/", body)]).version;
    let versions = ["<p>one", "<p>one<p>two", "<p>one<p>two<p>three"].map(commit);
    let body_file = |version: VersionId| {
        let page = VersionPages::new(writer.catalog(), Some(version)).next().expect("a page").expect("read");
        let name = page.body.to_string();
        root.join(".moku/blobs").join(&name[..2]).join(&name)
    };
    let blamed = || {
        let url = "https://e.org/".to_owned();
        let request = BlameRequest { url, version: versions[2], unit: BlameUnit::Passages };
        blame(writer.as_reader(), &request)
    };
    std::fs::remove_file(body_file(versions[1])).expect("removed");
    let report = blamed().expect("blamed");
    assert_eq!(report.unreadable.len(), 1);
    let origins: Vec<_> = report
        .items
        .iter()
        .map(|item| report.origins[item.origin].version.as_ref().expect("one").id)
        .collect();
    assert_eq!(origins, [versions[0], versions[2], versions[2]]);
    // Without the shown body there is no answer.
    std::fs::remove_file(body_file(versions[2])).expect("removed");
    blamed().expect_err("the body is missing");
}
