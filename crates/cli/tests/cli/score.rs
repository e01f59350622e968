//! What `score` says and keeps where a body cannot be had.

use crate::history::Place;
use crate::{stderr, stdout};

const URL: &str = "https://example.com/";
const LOGIN: &str = "<form action=/login><input type=password name=p></form>";

/// A site of two versions, the second of which lost what protected it.
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

/// How many rows say which change moved the score.
fn attributions(place: &Place) -> i64 {
    let database = rusqlite::Connection::open(place.path("museum/.moku/moku.db")).unwrap();
    database.query_row("SELECT COUNT(*) FROM diff_attributions", [], |row| row.get(0)).unwrap()
}

#[test]
fn with_a_damaged_parent_nothing_is_made_up_and_nothing_good_is_replaced() {
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
    assert!(said.contains("the score is not kept: bodies are lacking now"), "{said}");
    assert!(said.contains("1 page not compared with the parent's: the bodies are damaged"), "{said}");
    let why = told["explanation"].to_string();
    assert!(why.contains(&format!("is kept as {before}. What moved it is not known")), "{why}");
    let changes = told["changes"][0]["attack_surface_changes"].to_string();
    for header in ["csp_weakened", "hsts_weakened"] {
        assert!(changes.contains(header), "headers are known: {changes}");
    }
    assert!(!changes.contains("form_added") && told["changes"][0]["score_base"].is_null(), "{told}");
}

#[test]
fn what_a_damaged_parent_scored_is_not_known_unless_it_is_kept() {
    let place = weakened();
    damage_the_parent(&place);
    let output = place.run(&["score", "--json", "--explain"]);
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(told["before"].is_null() && told["change"].is_null() && told["kept"] == true, "{told}");
    assert!(told["most_exposed_before"].is_null(), "{told}");
    assert!(told["explanation"].to_string().contains("is not known: it takes bodies"), "{told}");
    assert!(stdout(&place.run(&["score"])).contains(" (not known in "));
}
