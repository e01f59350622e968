//! Whole files: groups, precedence, hostile ones.

use super::*;
use proptest::prelude::*;
use std::time::Duration;

fn rules(agent: &str, text: &str) -> RobotsRules {
    Robots::parse(text.as_bytes()).rules_for(agent)
}

#[test]
fn the_line_that_decided_is_named() {
    let rules = rules("varve", "user-agent: *\nallow: /a\n\ndisallow: /a/b\n");
    let decision = rules.decide("http://h/a/b/c");
    let rule = decision.rule.unwrap();
    assert_eq!((decision.allowed, rule.path.as_str(), rule.line), (false, "/a/b", 4));
    assert_eq!(rules.decide("http://h/x"), Decision { allowed: true, rule: None });
}

#[test]
fn a_robot_that_is_named_does_not_listen_to_what_is_said_to_all() {
    let text =
        "User-agent: *\nDisallow: /\n\nUser-agent: VARVE/2.0\nDisallow: /x\nUser-agent: other\nDisallow: /y";
    assert!(rules("varve", text).allows("/y") && !rules("Varve", text).allows("/x"));
    assert!(!rules("third", text).allows("/y"));
    assert!(rules("varvel", "user-agent: varve\ndisallow: /").allows("/"));
}

#[test]
fn of_two_as_long_the_one_that_allows_counts() {
    let rules = rules("x", "user-agent: x\ndisallow: /page\nallow: /page\ndisallow: /*.ph\nallow: /page");
    assert!(rules.allows("/page") && rules.allows("/page.ph"));
    assert!(!rules.allows("/pag.ph"));
}

#[test]
fn the_file_itself_is_always_allowed() {
    let rules = rules("x", "user-agent: *\ndisallow: /");
    assert!(rules.allows("http://h/robots.txt") && !rules.allows("http://h/robots.txt?x"));
    assert!(Robots::closed().rules_for("x").allows("http://h/robots.txt"));
}

#[test]
fn answers_without_a_file() {
    let file = b"user-agent: *\ndisallow: /x";
    assert!(!Robots::from_answer(200, file).rules_for("v").allows("/x"));
    assert!(Robots::from_answer(404, file).rules_for("v").allows("/x"));
    assert!(Robots::from_answer(301, file).rules_for("v").allows("/x"));
    assert!(!Robots::from_answer(503, file).rules_for("v").allows("/y"));
    assert!(!Robots::from_answer(429, file).rules_for("v").allows("/y"));
}

#[test]
fn a_page_in_place_of_the_file_forbids_nothing() {
    let rules = rules("v", "<!DOCTYPE html>\n<html><body>User-agent: *<br>Disallow: /</body></html>");
    assert!(rules.is_empty() && rules.allows("/"));
}

#[test]
fn delays_are_the_longest_and_only_for_whom_they_are() {
    let text = "user-agent: a\ncrawl-delay: 2\nuser-agent: b\nrequest-rate: 1/7\ndisallow: /\nuser-agent: a\ncrawl-delay: 1";
    assert_eq!(rules("a", text).delay(), Some(Duration::from_secs(7)));
    assert_eq!(rules("b", text).delay(), Some(Duration::from_secs(7)));
    assert_eq!(rules("c", text).delay(), None);
}

/// As many rules as fit, of every shape: each is still found, and nothing else is.
#[test]
fn twenty_thousand_wildcards() {
    let mut text = "user-agent: *\n".to_owned();
    for number in 0..20_000 {
        text.push_str(&format!("disallow: /*p{number}q$\n"));
    }
    let rules = rules("v", &text[..text.len().min(MAX_ROBOTS_BYTES)]);
    assert!(rules.len() > 19_000, "{}", rules.len());
    for number in [0, 7, 999, 12_345] {
        assert!(!rules.allows(&format!("http://h/some/path/p{number}q")));
        assert!(rules.allows(&format!("http://h/some/path/p{number}q?x")));
    }
    let few = rules.index.candidates(b"/some/longer/path/p12345q").count();
    assert!(few < 100, "{few} candidates");
}

proptest! {
    #[test]
    fn no_file_breaks_it(bytes in prop::collection::vec(any::<u8>(), 0..200), url in "\\PC{0,20}") {
        Robots::parse(&bytes).rules_for("v").decide(&url);
    }

    #[test]
    fn the_index_hides_no_rule(
        lines in prop::collection::vec((any::<bool>(), "/[ab*]{0,9}\\$?"), 0..12), path in "/[ab/]{0,12}",
    ) {
        let text: String = lines
            .iter()
            .map(|(allow, path)| format!("{}: {path}\n", if *allow { "allow" } else { "disallow" }))
            .collect();
        let rules = rules("v", &format!("user-agent: *\n{text}"));
        let path = pattern::path_of(&path);
        let patterns = lines.iter().map(|(allow, text)| (pattern::Pattern::parse(text).unwrap(), *allow));
        let heaviest = patterns
            .filter(|(pattern, _)| pattern.matches(&path))
            .max_by_key(|(pattern, allow)| (pattern.length, *allow));
        let expected = heaviest.is_none_or(|(_, allow)| allow);
        prop_assert_eq!(rules.allows(std::str::from_utf8(&path).unwrap()), expected);
    }
}
