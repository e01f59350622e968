//! What only Moku sites have, as people meet it.

use crate::history::Place;
use crate::stderr;

/// A folder with nothing in it but what a test makes.
fn place() -> Place {
    Place::new(false)
}

#[test]
fn a_site_is_made_with_what_is_set_in_it() {
    let place = place();
    place.data(&["moku", "new", "site", "--project", "one"]);
    let told = place.object(&["moku", "info", "site", "--json"]);
    assert_eq!((told["project"].as_str(), told["redaction"].as_str()), (Some("one"), Some("on")));
    assert!(place.failure(&["moku", "new", "site"]).contains("hint: "));
    assert!(place.failure(&["moku", "info", "nothing"]).contains("is not a Moku site"));
}

#[test]
fn a_site_goes_to_another_project_only_by_force() {
    let place = place();
    place.data(&["moku", "new", "site", "--project", "one"]);
    let refused = place.failure(&["moku", "set", "site", "--project", "two"]);
    assert!(refused.contains("belongs to the project one") && refused.contains("--force"), "{refused}");
    assert_eq!(place.object(&["moku", "info", "site", "--json"])["project"], "one");
    place.data(&["moku", "set", "site", "--project", "two", "--force"]);
    assert_eq!(place.object(&["moku", "info", "site", "--json"])["project"], "two");
}

#[test]
fn redaction_is_on_until_somebody_decides_otherwise() {
    let place = place();
    place.data(&["moku", "new", "site"]);
    place.file("page.html", "x");
    let commit = |message: &str| {
        let url = "https://example.com/";
        let words =
            ["-C", "site", "commit", "page.html", "--url", url, "--header", "Cookie: a=b", "-m", message];
        place.data(&words);
        place.data(&["-C", "site", "cat", url, "--headers"])
    };
    assert!(commit("hidden").contains("cookie: [REDACTED]"));
    place.data(&["moku", "set", "site", "--redaction", "off"]);
    assert!(commit("shown").contains("cookie: a=b"));
    place.data(&["moku", "set", "site", "--redaction", "on"]);
    assert!(commit("hidden again").contains("cookie: [REDACTED]"));
    let nothing = place.run(&["moku", "set", "site"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", stderr(&nothing));
}
