//! `varve explain`.

use crate::{run, run_with_input, stderr, stdout};

#[test]
fn each_rule_shows_what_it_changed() {
    let output = run(&["explain", "HTTP://Example.com:80/a/../b?utm_source=news&b=2&a=1#top"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    insta::assert_snapshot!(stdout(&output), @r"
    HTTP://Example.com:80/a/../b?utm_source=news&b=2&a=1#top

      parse                 the parts read and written again
                            = http://Example.com:80/a/../b?utm_source=news&b=2&a=1#top
      key                   7 bits from the host (Example.com: 57) and 56 bits from the whole URL
                            = 4126934022971533796

      clean/query           changes nothing: the query decoded and encoded again; pieces that cannot be read dropped: none
      clean/tracking        tracking parameters removed: `utm_source`
                            = http://Example.com:80/a/../b?b=2&a=1#top
      clean/order           parameters sorted by name
                            = http://Example.com:80/a/../b?a=1&b=2#top
      clean/fragment        the fragment removed
                            = http://Example.com:80/a/../b?a=1&b=2
      clean/key             7 bits from the host (Example.com: 57) and 56 bits from the whole URL
                            = 4134883415884380711

      normalise/trim        changes nothing: white space around it removed
      normalise/scheme      the scheme in lower case
                            = http://Example.com:80/a/../b?utm_source=news&b=2&a=1#top
      normalise/host        the host without escapes, in lower case, in its DNS form
                            = http://example.com:80/a/../b?utm_source=news&b=2&a=1#top
      normalise/port        a default or empty port removed
                            = http://example.com/a/../b?utm_source=news&b=2&a=1#top
      normalise/escapes     changes nothing: percent escapes in normal form (RFC 3986, 6.2.2)
      normalise/dots        `.` and `..` segments resolved
                            = http://example.com/b?utm_source=news&b=2&a=1#top
      normalise/empty-path  changes nothing: an empty path becomes `/`
      normalise/fragment    the fragment removed
                            = http://example.com/b?utm_source=news&b=2&a=1

      surt/ia               the host turned round for sorted indexes
                            = com,example)/b?a=1&b=2&utm_source=news
      surt/spec             the host turned round for sorted indexes
                            = com,example:80)/a/../b?utm_source=news&b=2&a=1#top
      surt/exact            the host turned round for sorted indexes
                            = com,example:80)/a/../b?utm_source=news&b=2&a=1#top!http
    ");
}

#[test]
fn aliases_and_groups_are_explained_when_given() {
    let mut words = vec!["explain", "https://old.example/2024/x"];
    words.extend(["--alias", "https://old.example/=https://new.example/"]);
    words.extend(["--pattern", "https://old.example/#/*", "--pattern", "https://old.example/*"]);
    let output = run(&words);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    let end = text.rsplit("\n\n").next().unwrap();
    insta::assert_snapshot!(end, @r"
    alias                 an alias leads to another URL of the archive
                          = https://new.example/2024/x
    group                 the URL belongs to the group `https://old.example/#/*`
    group                 the URL does not belong to the group `https://old.example/*`
    ");
}

#[test]
fn json_has_every_step() {
    let output =
        run_with_input(&["explain", "--json", "-"], b"https://example.com/#x\nhttps://example.org/\n");
    let objects: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects[1]["url"], "https://example.org/");
    let steps = objects[0]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["rule"] == "clean/fragment").unwrap();
    insta::assert_snapshot!(step, @r#"{"rule":"clean/fragment","explanation":"the fragment removed","before":"https://example.com/#x","after":"https://example.com/","changed":true}"#);
}

#[test]
fn a_bad_url_is_explained_as_far_as_it_goes_and_exits_2() {
    let output = run(&["explain", "http://example.com:http/"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("refused"));
    insta::assert_snapshot!(stderr(&output), @r"
    error: argument 1 is not a URL
      cause: port that is not a number at byte 18
    ");
}

/// A fragment may contain terminal control characters.
#[test]
fn control_characters_are_escaped() {
    let output = run(&["explain", "--color=always", "https://example.com/#\u{1b}[2J\u{7f}\u{9b}"]);
    assert!(stdout(&output).starts_with("\u{1b}[1mhttps://example.com/#\\u{1b}[2J\\u{7f}\\u{9b}"));
    assert!(!stdout(&output).contains("\u{1b}[2J"));
}

#[test]
fn an_alias_without_a_target_is_a_usage_error() {
    let output = run(&["explain", "https://example.com/", "--alias", "https://example.com/"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"error: invalid value `https://example.com/` for `--alias <FROM=TO>`: an alias is two prefixes with `=` between them");
}
