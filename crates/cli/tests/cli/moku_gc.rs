//! `gc` of a Moku site: dry runs, counts and refusals.

use crate::history::Place;
use crate::stderr;

/// A site with this number of versions of a page; returns their ids, the oldest first.
fn site(versions: usize) -> (Place, Vec<String>) {
    let place = Place::new(false);
    let commit = |number: usize| {
        place.file("page.html", &format!("text {number}"));
        let words = ["commit", "page.html", "--url", "https://example.com/", "-m", "a version"];
        place.data(&words).trim().to_owned()
    };
    let made = (0..versions).map(commit).collect();
    (place, made)
}

/// The path of the body of a version of [`site`].
fn body(place: &Place, number: usize) -> std::path::PathBuf {
    let blobs = std::fs::read_dir(place.path("museum/.moku/blobs")).unwrap();
    let mut files = blobs.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    let text = format!("text {number}").into_bytes();
    files
        .find_map(|file| Some(file.unwrap().path()).filter(|path| std::fs::read(path).unwrap() == text))
        .unwrap()
}

#[test]
fn a_dry_run_writes_nothing_and_needs_no_permission() {
    let (place, made) = site(3);
    std::fs::write(place.path("museum/.moku/HEAD"), "").unwrap();
    let words = ["gc", "--keep-last", "1", "--dry-run", "--json"];
    let shown = place.lines(&words);
    assert_eq!(place.lines(&[&["--readonly"], &words[..]].concat()), shown);
    assert_eq!(std::fs::read(place.path("museum/.moku/HEAD")).unwrap(), b"");
    place.data(&[&["--of-project", "mine"], &words[..]].concat());
    assert!(place.object(&["moku", "info", "--json"])["project"].is_null());
    let mut done = place.lines(&["gc", "--keep-last", "1", "--json"]);
    done.last_mut().unwrap()["summary"]["dry_run"] = true.into();
    assert_eq!(done, shown);
    assert_eq!(std::fs::read_to_string(place.path("museum/.moku/HEAD")).unwrap(), made[2]);
}

#[test]
fn a_diff_that_could_not_be_made_is_not_counted_as_made() {
    let (place, made) = site(3);
    place.data(&["tag", "first", &made[0]]);
    std::fs::write(body(&place, 0), "damaged").unwrap();
    let output = place.run(&["gc", "--keep-last", "1", "--json"]);
    assert!(stderr(&output).contains("1 diff not computed"), "{}", stderr(&output));
    let last = String::from_utf8(output.stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!((&last["summary"]["made"], &last["summary"]["versions"]), (&0.into(), &1.into()));
}

#[test]
fn a_commit_after_a_damaged_body_succeeds_with_a_warning() {
    let (place, _) = site(1);
    std::fs::write(body(&place, 0), "damaged").unwrap();
    place.file("other.html", "other");
    let words = ["commit", "other.html", "--url", "https://example.com/other", "-m", "another page"];
    let output = place.run(&words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("the diff with the parent is not stored"), "{}", stderr(&output));
}
