//! The contract of every search index.

use std::path::Path;

use varve_core::VersionId;
use varve_core::history::ListCursor;
use varve_core::search_index::{
    DeclarationKind, IndexedPage, PartNumber, SearchIndex, SearchIndexRead, SearchPart, SearchRow,
    UrlDeclaration, WordLookup,
};

/// Runs the suite. `open` opens the index of a folder to write, and creates it if there is none.
///
/// # Panics
///
/// Panics when an implementation breaks the contract.
pub fn search_index(open: &dyn Fn(&Path) -> Box<dyn SearchIndex>) {
    let folder = tempfile::tempdir().expect("a folder");
    let index = open(folder.path());
    words_find_pages(&*index);
    drop(index);
    let index = open(folder.path());
    assert_eq!(found(index.as_read(), &["red"], None), ["b.example/2"], "rows survive");
    versions_are_known_once_they_are_stored(&*index);
    batches_are_stored_whole_or_not_at_all(&*index);
    better_pages_come_first(&*index);
    declarations_are_found_from_both_sides(&*index);
}

fn part(page: &str, place: u32, words: &[&str]) -> SearchRow {
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    words.sort();
    SearchRow::Part(SearchPart {
        page: page.to_owned(),
        place,
        url: format!("https://{page}"),
        host: page.split('/').next().unwrap_or_default().to_owned(),
        record: format!("{page} {place} {words:?}").into_bytes(),
        words,
    })
}

fn lookup(word: &str) -> WordLookup {
    let text = word.trim_end_matches('*').to_owned();
    let ranking = vec![(format!("{text}\u{e000}"), 4.0), (format!("{text}\u{e001}"), 1.0)];
    WordLookup { is_prefix: word.ends_with('*'), text, ranking }
}

/// The pages with all these words, in the order of the index.
fn in_order(index: &dyn SearchIndexRead, words: &[&str], site: Option<&str>) -> Vec<String> {
    let words: Vec<WordLookup> = words.iter().map(|word| lookup(word)).collect();
    let candidates = index.candidates(&words, site).expect("searched");
    assert_eq!(candidates.rarity.len(), words.len());
    let page = |part: &PartNumber| index.page_of(*part).expect("read").expect("a page");
    candidates.parts.iter().map(page).collect()
}

fn found(index: &dyn SearchIndexRead, words: &[&str], site: Option<&str>) -> Vec<String> {
    let mut pages = in_order(index, words, site);
    pages.sort();
    pages
}

fn words_find_pages(index: &dyn SearchIndex) {
    let read = index.as_read();
    assert!(found(read, &["red"], None).is_empty());
    let rows = [
        part("a.example/1", 0, &["house", "roof", "maison"]),
        part("b.example/2", 0, &["house", "red", "検索"]),
        part("sub.b.example/3", 0, &["roof", "索引"]),
        part("a.example/1", 1, &["garden", "house"]),
    ];
    index.apply(&mut rows.into_iter()).expect("stored");
    assert_eq!(found(read, &["house", "red"], None), ["b.example/2"]);
    assert_eq!(found(read, &["house"], None), ["a.example/1", "a.example/1", "b.example/2"]);
    assert!(found(read, &["garden", "roof"], None).is_empty(), "words of two parts are not of one text");
    assert_eq!(found(read, &["ro*"], None), ["a.example/1", "sub.b.example/3"]);
    assert_eq!(found(read, &["索*"], None), ["sub.b.example/3"]);
    assert_eq!(found(read, &["検索"], None), ["b.example/2"]);
    assert_eq!(found(read, &["roof"], Some("b.example")), ["sub.b.example/3"]);
    assert!(found(read, &["roof"], Some("example")).len() == 2);
    assert!(found(read, &["roof"], Some("xb.example")).is_empty());
    // A part that is stored again replaces the one before.
    index.apply(&mut [part("a.example/1", 0, &["slate"])].into_iter()).expect("stored");
    assert_eq!(found(read, &["roof"], None), ["sub.b.example/3"]);
    assert_eq!(found(read, &["slate"], None), ["a.example/1"]);
    let IndexedPage { url, records, .. } = read.page("a.example/1").expect("read").expect("a page");
    assert_eq!(url, "https://a.example/1");
    let records: Vec<String> =
        records.into_iter().map(|record| String::from_utf8(record).expect("text")).collect();
    assert_eq!(records, ["a.example/1 0 [\"slate\"]", "a.example/1 1 [\"garden\", \"house\"]"]);
    assert_eq!(read.page("a.example").expect("read"), None);
    let list = |after: Option<&str>| read.pages(ListCursor { after, limit: 2 }).expect("listed");
    assert_eq!(list(None), ["a.example/1", "b.example/2"]);
    assert_eq!(list(Some("b.example/2")), ["sub.b.example/3"]);
}

fn declarations_are_found_from_both_sides(index: &dyn SearchIndex) {
    let declaration = |page: &str, kind, target: &str| {
        let (page, target) = (page.to_owned(), target.to_owned());
        UrlDeclaration { page, kind, target }
    };
    let [one, two] = ["d.example/1", "d.example/2"]
        .map(|page| declaration(page, DeclarationKind::Canonical, "d.example/"));
    let other = declaration("d.example/2", DeclarationKind::Alternate, "e.example/");
    let rows = [&two, &one, &other, &one].map(|row| SearchRow::Declaration(row.clone()));
    index.apply(&mut rows.into_iter()).expect("stored");
    let about = |target, limit| index.declarations_about(target, limit).expect("read");
    assert_eq!(about("d.example/", 9), [one.clone(), two.clone()]);
    assert_eq!(about("d.example/", 1), [one]);
    assert_eq!(about("d.example", 9), []);
    assert_eq!(index.declarations_of("d.example/2").expect("read"), [two, other]);
}

fn versions_are_known_once_they_are_stored(index: &dyn SearchIndex) {
    let [one, two] = [1, 2].map(|number| VersionId::new(uuid::Uuid::from_bytes([number; 16])));
    let has = |version| index.has_version(&version).expect("read");
    assert!(!has(one));
    for _ in 0..2 {
        index.apply(&mut [SearchRow::Version(one)].into_iter()).expect("stored");
        assert_eq!((has(one), has(two), index.count_versions().expect("read")), (true, false, 1));
    }
}

fn batches_are_stored_whole_or_not_at_all(index: &dyn SearchIndex) {
    let three = VersionId::new(uuid::Uuid::from_bytes([3; 16]));
    let rows = [part("c.example/", 0, &["lost"]), SearchRow::Version(three)];
    let mut broken = rows.into_iter().chain(std::iter::once_with(|| panic!("the reader of a body failed")));
    let apply = std::panic::AssertUnwindSafe(|| index.apply(&mut broken));
    assert!(std::panic::catch_unwind(apply).is_err());
    assert!(!index.has_version(&three).expect("read"));
    assert!(found(index.as_read(), &["lost"], None).is_empty());
}

/// Only where there are more candidates than a caller verifies.
fn better_pages_come_first(index: &dyn SearchIndex) {
    let marks = |number: usize| match number {
        200 => vec!["tulip", "tulip\u{e000}"],
        100 => vec!["tulip", "tulip\u{e001}"],
        _ => vec!["tulip"],
    };
    let mut rows = (0..300).map(|number| part(&format!("t.example/{number}"), 0, &marks(number)));
    index.apply(&mut rows).expect("stored");
    let pages = in_order(index.as_read(), &["tulip"], None);
    assert_eq!(pages.len(), 300);
    assert_eq!(pages[..2], ["t.example/200", "t.example/100"]);
    let rarity = |word| index.candidates(&[lookup(word)], None).expect("searched").rarity[0];
    assert!(rarity("slate") > rarity("tulip"));
}
