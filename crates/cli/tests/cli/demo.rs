//! The tour says nothing that is not so.

use super::{run, stderr, stdout};

#[test]
fn three_spellings_have_one_key() {
    let output = run(&["demo"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let is_key =
        |line: &&str| line.split("  ").next().is_some_and(|key| key.len() > 10 && key.parse::<u64>().is_ok());
    let keyed: Vec<_> = text.lines().filter(is_key).collect();
    assert_eq!(keyed.len(), 3, "{text}");
    assert!(keyed.iter().all(|line| *line == keyed[0]), "{text}");
}

#[test]
fn a_flipped_bit_is_noticed() {
    let text = stdout(&run(&["demo"]));
    let (before, after) = text.split_once("one bit of the archive flipped").expect("two audits");
    assert!(before.contains("sound: 1 silo, 3 records"), "{before}");
    assert!(before.contains("there already"), "{before}");
    assert!(after.contains("error") && after.contains("findings in 1 silo"), "{after}");
}

#[test]
fn a_damaged_file_is_found_and_repaired() {
    let text = stdout(&run(&["demo"]));
    let (_, doctor) = text.split_once("varve doctor").expect("a doctor");
    let (damaged, repaired) = doctor.split_once("repaired.warc.gz").expect("a repaired file");
    assert!(damaged.contains("error   C01"), "{damaged}");
    assert!(repaired.contains("clean, all"), "{repaired}");
}
