//! `varve token`: keys, tokens, and that no message contains a key.

use std::process::Output;

use crate::{run, stderr, stdout, varve};

/// A key of 32 bytes.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// Another one.
const OTHER_KEY: &str = "HxwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEAAAA=";

fn with_key(key: &str, words: &[&str]) -> Output {
    varve().args(words).env("VARVE_SIGNING_KEY", key).output().unwrap()
}

fn issue(words: &[&str]) -> String {
    let output = with_key(KEY, &[&["token", "issue", "--sub", "ada"], words].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output).trim().to_owned()
}

#[test]
fn a_new_key_issues_a_token_that_it_verifies() {
    let key = stdout(&run(&["token", "make-key"]));
    assert_ne!(key, stdout(&run(&["token", "make-key"])));
    assert_eq!(data_encoding::BASE64.decode(key.trim().as_bytes()).unwrap().len(), 32);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("signing.key");
    std::fs::write(&file, &key).unwrap();
    let file = file.to_str().unwrap();
    // The file counts before the variable.
    let issued = with_key(OTHER_KEY, &["token", "issue", "--sub", "ada", "--signing-key-file", file]);
    let token = stdout(&issued);
    assert_eq!(token.trim().split('.').count(), 3, "{token}");
    let shown = run(&["token", "show", token.trim(), "--signing-key", key.trim()]);
    assert_eq!((shown.status.code(), stderr(&shown).as_str()), (Some(0), "valid\n"));
    let text = stdout(&shown);
    assert!(
        text.starts_with("subject     ada\nissuer      scrape\naudience    moz\nissued      20"),
        "{text}"
    );
    let input = crate::run_with_input(&["token", "show", "-", "--signing-key-file", file], token.as_bytes());
    assert_eq!((input.status.code(), stdout(&input)), (Some(0), text));
}

#[test]
fn tokens_say_what_was_asked_for() {
    let shown = |token: &str| {
        let output = with_key(KEY, &["token", "show", token, "--json"]);
        serde_json::from_str::<serde_json::Value>(&stdout(&output)).unwrap()
    };
    let token = shown(&issue(&["--aud", "readers", "--exp", "2100-01-01T00:00:00Z"]));
    assert_eq!(token["valid"], true);
    assert_eq!(token["signature_verified"], true);
    assert_eq!(token["claims"]["aud"], serde_json::json!(["readers"]));
    assert_eq!(token["claims"]["exp"], 4_102_444_800_u64);
    let day = shown(&issue(&["--exp", "1d"]));
    let lifetime = day["claims"]["exp"].as_i64().unwrap() - day["claims"]["iat"].as_i64().unwrap();
    assert!((86_395..=86_405).contains(&lifetime), "{lifetime}");
    for wrong in ["2001-01-01", "0s", "tomorrow", ""] {
        let output = with_key(KEY, &["token", "issue", "--sub", "ada", "--exp", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
    assert_eq!(with_key(KEY, &["token", "issue", "--sub", ""]).status.code(), Some(2));
}

#[test]
fn an_invalid_token_is_a_finding() {
    let token = issue(&[]);
    let (signed, _) = token.rsplit_once('.').unwrap();
    let other = issue(&["--aud", "others"]);
    let swapped = format!("{signed}.{}", other.rsplit_once('.').unwrap().1);
    for (key, token, why) in [
        (OTHER_KEY, &*token, "not valid: signature is invalid\n"),
        (KEY, &*swapped, "not valid: signature is invalid\n"),
        (KEY, "x", "not valid: token is malformed\n"),
        ("", "x.y.z", "not valid: token is malformed\n"),
    ] {
        let shown = with_key(key, &["token", "show", token]);
        assert_eq!((shown.status.code(), stderr(&shown).as_str()), (Some(1), why), "{token}");
    }
    let unverified = with_key("", &["token", "show", &token]);
    assert_eq!(unverified.status.code(), Some(0));
    assert_eq!(stderr(&unverified), "the signature was not verified: there is no signing key\n");
}

#[test]
fn wrong_keys_are_refused_and_never_printed() {
    let secret = "c2VjcmV0";
    for (key, why) in [
        (secret, "the signing key has 6 bytes, and needs at least 32"),
        ("se!cret", "the signing key is not base64 (standard alphabet, with padding)"),
    ] {
        for words in [&["token", "issue", "--sub", "ada"][..], &["token", "show", "x"], &["-C", ".", "serve"]]
        {
            let output = with_key(key, words);
            assert_eq!(output.status.code(), Some(2));
            let text = stderr(&output);
            assert!(text.starts_with(&format!("error: {why}\n")) && !text.contains(key), "{text}");
        }
    }
    let none = run(&["token", "issue", "--sub", "ada"]);
    assert_eq!(none.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&none), @r"
    error: there is no signing key
    hint: name one with VARVE_SIGNING_KEY, `--signing-key-file` or `--signing-key`; `varve token make-key` makes one
    ");
    let help = with_key(KEY, &["serve", "--help"]);
    assert!(stdout(&help).contains("VARVE_SIGNING_KEY") && !stdout(&help).contains(KEY));
}
