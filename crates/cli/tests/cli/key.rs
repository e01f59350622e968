//! `varve key`.

use crate::{run, run_with_input, stderr, stdout};

#[test]
fn spellings_of_one_page_have_one_line() {
    let output = run(&[
        "key",
        "https://example.com/?utm_source=news&b=2&a=1",
        "HTTPS://example.com/?a=1&b=2#top",
        "https://example.com",
    ]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
    insta::assert_snapshot!(stdout(&output), @r"
    6429775543473061598  https://example.com/?a=1&b=2
    6429775543473061598  https://example.com/?a=1&b=2
    6447794946650030128  https://example.com
    ");
}

#[test]
fn json_has_both_keys_as_strings() {
    let output = run(&["key", "--json", "https://example.com?utm_source=foo"]);
    insta::assert_snapshot!(stdout(&output), @r#"{"schema":1,"url":"https://example.com?utm_source=foo","clean":"https://example.com","key":"6453937586277447328","clean_key":"6447794946650030128"}"#);
}

#[test]
fn an_invalid_url_is_reported_by_position_and_the_others_follow() {
    let output =
        run(&["key", "https://example.com/", "https://secret:word@exa mple.com/", "https://example.com"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: argument 2 is not a URL
      cause: character ' ' not allowed in a host at byte 23
    ");
    assert_eq!(stdout(&output).lines().count(), 2);
}

#[test]
fn a_dash_reads_standard_input() {
    let input = b"https://example.com/\r\n\n  https://example.com \n\xff\nhttps://a b/\n/last";
    let output = run_with_input(&["key", "https://first.example/", "-", "https://after.example/"], input);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stdout(&output), @r"
    4788105144547297498  https://first.example/
    6452323252155173144  https://example.com/
    6447794946650030128  https://example.com
    70575295248728298    /last
    3242024962196294201  https://after.example/
    ");
    insta::assert_snapshot!(stderr(&output), @r"
    error: line 4 of standard input is not a URL
      cause: not UTF-8
    error: line 5 of standard input is not a URL
      cause: character ' ' not allowed in a host at byte 9
    ");
}

#[test]
fn without_a_url_there_is_nothing_to_do() {
    let output = run(&["key"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: the following required arguments were not provided:
      <URL>...
    hint: usage is `varve key <URL>...`
    ");
}

#[test]
fn empty_standard_input_is_not_an_error() {
    let output = run_with_input(&["key", "-"], b"");
    assert_eq!(
        (output.status.code(), stdout(&output), stderr(&output)),
        (Some(0), String::new(), String::new())
    );
}
