//! `varve demo`: the tour must end well, and must show what it says.

use crate::{run, stderr, stdout};

#[test]
fn three_spellings_have_one_key() {
    let output = run(&["demo"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let text = stdout(&output);
    let keyed: Vec<_> =
        text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).collect();
    assert_eq!(keyed.len(), 3, "{text}");
    assert!(keyed.iter().all(|line| *line == keyed[0]), "{text}");
}
