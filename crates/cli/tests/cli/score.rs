//! `score` where bodies are missing or damaged.

use crate::history::Place;
use crate::{stderr, stdout};

const URL: &str = "https://example.com/";
const LOGIN: &str = "<form action=/login><input type=password name=p></form>";

/// A site of two versions, the second without a protective header.
fn weakened() -> Place {
    let place = Place::new(false);
    let policy = ["--header", "Content-Security-Policy: default-src 'self'"];
    let transport = ["--header", "Strict-Transport-Security: max-age=31536000"];
    for (body, headers) in [(LOGIN.to_owned(), &[policy, transport][..]), (LOGIN.repeat(2), &[])] {
        place.file("page.html", &body);
        let words = ["commit", "page.html", "--url", URL, "-m", "m"];
        place.data(&[&words[..], headers.concat().as_slice()].concat());
    }
    place
}

/// Appends to the body of the parent's page.
fn damage_the_parent(place: &Place) {
    let id = place.lines(&["log", URL, "--json"])[1]["body"].as_str().unwrap().to_owned();
    let path = place.path(&format!("museum/.moku/blobs/{}/{id}", &id[..2]));
    let body = std::fs::read_to_string(&path).unwrap() + "more";
    std::fs::write(&path, body).unwrap();
}

/// The number of attribution rows.
fn attributions(place: &Place) -> i64 {
    let database = rusqlite::Connection::open(place.path("museum/.moku/moku.db")).unwrap();
    database.query_row("SELECT COUNT(*) FROM diff_attributions", [], |row| row.get(0)).unwrap()
}

#[test]
fn all_numbers_are_on_one_scale() {
    let place = weakened();
    let told = place.object(&["score", "--json", "--explain"]);
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let (score, normalized) = (number(&told["score"]), number(&told["normalized"]));
    assert!(score >= normalized && normalized > 1.0, "{told}");
    assert!((number(&told["pages"][0]["score"]) - score).abs() < 1e-9, "{told}");
    let exposure = number(&told["pages"][0]["exposure"]);
    assert!(
        (exposure * (100.0 - number(&told["pages"][0]["hardening"])) / 100.0 - score).abs() < 1e-9,
        "{told}"
    );
    assert!((number(&told["before"]) + number(&told["change"]) - score).abs() <= 1.0, "{told}");
    let moved: f64 =
        told["attributions"].as_array().unwrap().iter().map(|one| number(&one["contribution"])).sum();
    assert!((moved - number(&told["change"])).abs() < 1e-9, "{told}");
    assert!((number(&told["changes"][0]["score_head"]) - score).abs() < 1e-9, "{told}");
    let why = told["explanation"].to_string();
    assert!(why.contains(&format!("{exposure:.0} points of exposure")), "{why}");
}

#[test]
fn a_damaged_parent_does_not_replace_a_stored_score() {
    let place = weakened();
    let before = place.object(&["score", "HEAD~1", "--json"])["normalized"].clone();
    let whole = place.object(&["score", "--json"]);
    let rows = attributions(&place);
    assert!(rows > 0 && whole["kept"] == true && whole["before"] == before, "{whole}");
    damage_the_parent(&place);
    let output = place.run(&["score", "--json", "--explain"]);
    assert_eq!(output.status.code(), Some(1));
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&told["before"], &told["normalized"]), (&before, &whole["normalized"]), "{told}");
    assert!((told["change"].as_f64().unwrap() - whole["change"].as_f64().unwrap()).abs() < 1e-9, "{told}");
    assert_eq!((&told["kept"], attributions(&place)), (&false.into(), rows), "{told}");
    let said = stderr(&output);
    assert!(said.contains("the score is not stored: bodies are missing"), "{said}");
    assert!(said.contains("1 page not compared with the parent's: their bodies are damaged"), "{said}");
    let why = told["explanation"].to_string();
    assert!(why.contains(&format!("is stored as {before}. The cause of the change is unknown")), "{why}");
    let changes = told["changes"][0]["attack_surface_changes"].to_string();
    for header in ["csp_weakened", "hsts_weakened"] {
        assert!(changes.contains(header), "headers are known: {changes}");
    }
    assert!(!changes.contains("form_added") && told["changes"][0]["score_base"].is_null(), "{told}");
}

#[test]
fn the_score_of_a_damaged_parent_is_unknown_unless_stored() {
    let place = weakened();
    damage_the_parent(&place);
    let output = place.run(&["score", "--json", "--explain"]);
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(told["before"].is_null() && told["change"].is_null() && told["kept"] == true, "{told}");
    assert!(told["most_exposed_before"].is_null(), "{told}");
    assert!(told["explanation"].to_string().contains("is unknown: bodies are missing"), "{told}");
    assert!(stdout(&place.run(&["score"])).contains(" (not known in "));
}
