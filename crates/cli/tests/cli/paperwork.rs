//! Completions and man pages: that each shell's script and each page is there and speaks of every verb.

use crate::{run, stdout, verbs};

fn output_of(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success());
    stdout(&output)
}

#[test]
fn each_shell_learns_every_verb() {
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
fn there_is_a_page_for_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("share/man1");
    let listed = output_of(&["man", "--to", target.to_str().unwrap()]);
    let mut wanted: Vec<_> = verbs().iter().map(|verb| target.join(format!("varve-{verb}.1"))).collect();
    wanted.insert(0, target.join("varve.1"));
    let listed: Vec<_> = listed.lines().map(std::path::PathBuf::from).collect();
    assert_eq!(listed, wanted);
    for page in listed {
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains(".TH varve") && text.contains("Examples:"), "{}", page.display());
    }
    assert_eq!(std::fs::read_to_string(target.join("varve.1")).unwrap(), output_of(&["man"]));
}
