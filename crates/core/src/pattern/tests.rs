//! Compares the matcher with a simple one, and runs patterns that are made to be slow.

use super::*;
use proptest::prelude::*;

/// Matches by trying everything, without memory: correct, and slow.
fn slowly(pattern: &[u8], url: &[u8], at_sign: AtSign) -> bool {
    let Some((&sign, mut rest)) = pattern.split_first() else { return url.is_empty() };
    let some: fn(u8) -> bool = match sign {
        b'*' if rest.first() == Some(&b'*') => {
            rest = &rest[1..];
            |byte| byte != b'\n'
        }
        b'*' => |byte| !b"/?=&".contains(&byte),
        b'#' => |byte| byte.is_ascii_digit(),
        b'@' if at_sign == AtSign::Letters => |byte| byte.is_ascii_alphabetic(),
        _ => return url.first() == Some(&sign) && slowly(rest, &url[1..], at_sign),
    };
    let least = usize::from(sign != b'*');
    let most = url.iter().take_while(|&&byte| some(byte)).count();
    (least..=most).any(|length| slowly(rest, &url[length..], at_sign))
}

fn matches(pattern: &str, url: &str) -> bool {
    GroupPattern::new(pattern, AtSign::Literal).matches(url)
}

#[test]
fn at_signs_are_letters_when_asked() {
    let letters = GroupPattern::new("https://a.com/@/x", AtSign::Letters);
    assert!(letters.matches("https://a.com/abcXYZ/x"));
    assert!(!letters.matches("https://a.com/abc1/x") && !letters.matches("https://a.com//x"));
    assert!(!letters.matches("https://a.com/é/x"));
    assert!(matches("https://a.com/@/x", "https://a.com/@/x"));
    assert_eq!(letters.literal_prefix(), "https://a.com/");
}

#[test]
fn a_literal_pattern_matches_itself_alone() {
    assert!(matches("", "") && matches("abc", "abc"));
    assert!(!matches("abc", "ab") && !matches("abc", "abcd") && !matches("", "a"));
}

#[test]
fn ending_and_beginning_do_not_overlap() {
    assert!(!matches("aba*ba", "aba"));
    assert!(matches("aba*ba", "ababa"));
}

#[test]
fn long_patterns_use_more_words() {
    let pattern = "#-".repeat(100);
    assert!(matches(&pattern, &"12-".repeat(100)));
    assert!(!matches(&pattern, &"12-".repeat(99)));
    let url = "x".repeat(500);
    for stars in ["**", "*"] {
        assert!(matches(&format!("{stars}{url}{stars}"), &url));
        assert!(!matches(&format!("{stars}{url}y{stars}"), &url));
    }
}

#[test]
fn hostile_patterns_and_urls_end() {
    let url = "a".repeat(20_000);
    assert!(!matches(&format!("{}b*", "**a".repeat(300)), &url));
    assert!(!matches(&format!("{}b*", "*a".repeat(300)), &url));
    assert!(matches(&"**a".repeat(300), &url));
    let digits = "1".repeat(20_000);
    assert!(!matches(&format!("{}x*", "#".repeat(300)), &digits));
    assert!(matches(&"#**".repeat(300), &digits));
}

proptest! {
    #[test]
    fn the_machine_agrees_with_the_obvious_matcher(
        pattern in "[a1/#*@\n]{0,9}", url in "[a1/?@\n]{0,9}", letters: bool,
    ) {
        let at_sign = if letters { AtSign::Letters } else { AtSign::Literal };
        let compiled = GroupPattern::new(&pattern, at_sign);
        let whole = |url: &str| slowly(pattern.as_bytes(), url.as_bytes(), at_sign);
        let expected = whole(&url) || url.strip_suffix('\n').is_some_and(whole);
        prop_assert_eq!(compiled.matches(&url), expected);
    }

    #[test]
    fn one_word_and_many_agree(pattern in "[a1/#*]{0,9}", url in "[a1/?\n]{0,9}") {
        let (filler, long) = ("x#".repeat(40), "x1".repeat(40));
        prop_assert_eq!(matches(&pattern, &url), matches(&format!("{filler}-{pattern}"), &format!("{long}-{url}")));
    }

    #[test]
    fn members_begin_with_the_literal_prefix(pattern in "[ab#*@]{0,6}", url in "[ab1@]{0,6}") {
        let compiled = GroupPattern::new(&pattern, AtSign::Literal);
        prop_assert!(!compiled.matches(&url) || url.starts_with(compiled.literal_prefix()));
    }
}
