//! Help, completions and man pages: each of them covers every verb.

use crate::{run, stderr, stdout, verb_groups, verbs};

fn output_of(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success());
    stdout(&output)
}

#[test]
fn each_completion_script_has_every_verb() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = output_of(&["completions", shell]);
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell} does not know `{verb}`");
        }
    }
}

#[test]
fn bash_accepts_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("varve.bash");
    std::fs::write(&path, output_of(&["completions", "bash"])).unwrap();
    if varve_testkit::has_program("bash") {
        let output = std::process::Command::new("bash").arg("-n").arg(&path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn help_groups_verbs_by_job_and_begins_with_the_first_six() {
    let groups = verb_groups();
    let titles: Vec<_> = groups.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Start here",
            "Capture",
            "History",
            "Read pages",
            "Check the live web",
            "Keep safe",
            "Other formats",
            "Object store",
            "Tools"
        ]
    );
    assert_eq!(groups[0].1, ["demo", "init", "capture", "log", "diff", "serve"]);
    assert_eq!(verbs()[verbs().len() - 2..], ["completions", "man"]);
}

#[test]
fn help_of_a_verb_is_the_same_by_verb_and_by_option() {
    for path in [&[][..], &["capture"], &["crystal"], &["crystal", "new"], &["plan", "group", "add"]] {
        let help = output_of(&[&["help"], path].concat());
        assert_eq!(help, output_of(&[path, &["--help"]].concat()), "{path:?}");
    }
    assert!(output_of(&["help", "crystal", "new"]).contains("Usage: varve crystal new"));
    let unknown = run(&["help", "crystal", "infoo"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("hint: a similar subcommand exists: `info`"), "{}", stderr(&unknown));
}

#[test]
fn there_is_a_page_for_every_verb_and_sub_verb() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("share/man1");
    let listed = output_of(&["man", "--to", target.to_str().unwrap()]);
    let listed: Vec<_> = listed.lines().map(std::path::PathBuf::from).collect();
    assert_eq!(listed[0], target.join("varve.1"));
    let sub_verbs = ["crystal-new", "moku-set", "plan-root-add", "urls-fmt"];
    for verb in verbs().iter().map(String::as_str).chain(sub_verbs) {
        assert!(listed.contains(&target.join(format!("varve-{verb}.1"))), "{verb}");
    }
    for page in listed {
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains(".TH varve") && text.contains("Examples:"), "{}", page.display());
    }
    assert_eq!(std::fs::read_to_string(target.join("varve.1")).unwrap(), output_of(&["man"]));
}
