//! Streams and exit codes, with real processes and pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::{run, stderr, stdout, varve};

#[test]
fn help_is_data_and_exits_0() {
    for words in [["--help"], ["-h"], ["--version"]] {
        let output = run(&words);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains("varve"));
        assert_eq!(stderr(&output), "");
    }
}

#[test]
fn a_bare_call_shows_help_as_talk_and_exits_2() {
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("\nStart here:\n"));
}

#[test]
fn a_usage_error_exits_2_with_a_hint() {
    let output = run(&["housekeping"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    insta::assert_snapshot!(stderr(&output), @r"
    error: unrecognized subcommand `housekeping`
    hint: a similar subcommand exists: `housekeeping`
    hint: usage is `varve [OPTIONS] <VERB>`
    ");
}

#[test]
fn a_wrong_value_lists_the_right_ones() {
    let output = run(&["completions", "cobol"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: invalid value `cobol` for `<SHELL>`
      [possible values: bash, elvish, fish, powershell, zsh]
    ");
}

/// A record whose length exceeds the file.
#[test]
fn findings_exit_1_and_are_data() {
    let folder = tempfile::tempdir().unwrap();
    let cut = "WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 100\r\n\r\nshort";
    std::fs::write(folder.path().join("cut.warc"), cut).unwrap();
    let output = varve().args(["doctor", "cut.warc"]).current_dir(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).starts_with("cut.warc: "), "{}", stdout(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_file_that_cannot_be_written_exits_2_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taken"), "").unwrap();
    let output = varve().args(["man", "--to", "taken/man"]).current_dir(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: could not write `taken/man`
      cause: Not a directory (os error 20)
    ");
}

/// The pipe is closed while varve still has far more to write than any pipe holds.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = varve()
        .args(["key", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let urls = "https://example.com/\n".repeat(10_000);
        // Fails when varve stops reading, which ends the endless input.
        while input.write_all(urls.as_bytes()).is_ok() {}
    });
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(first, "6452323252155173144  https://example.com/\n");
    assert_eq!(stderr(&output), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn each_output_line_is_flushed_before_the_next_input() {
    let mut child = varve().args(["key", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for path in ["a", "b"] {
        writeln!(input, "https://example.com/{path}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(answer.ends_with(&format!("  https://example.com/{path}\n")), "{answer}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// The reader is closed at the start: the very first write fails.
#[test]
fn a_pipe_that_was_closed_before_the_start_is_no_error() {
    for words in [&["--help"][..], &["man"], &["completions", "zsh"], &["key", "https://example.com/"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = varve().args(words).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(stderr(&output), "");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = varve().arg("man").stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: could not write to standard output
      cause: No space left on device (os error 28)
    ");
}

#[test]
fn colours_come_when_asked_for_and_not_into_a_pipe() {
    let escape = '\u{1b}';
    assert!(!stdout(&run(&["--help"])).contains(escape));
    assert!(stdout(&run(&["--color", "always", "--help"])).contains(escape));
    assert!(!stderr(&run(&["nonsense"])).contains(escape));
    assert!(stderr(&run(&["--color=always", "nonsense"])).contains(escape));
}

/// `script` gives the program a terminal of its own.
#[cfg(target_os = "linux")]
#[test]
fn colours_come_on_a_terminal_unless_no_color_is_set() {
    let on_terminal = |no_color: Option<&str>| {
        let mut script = Command::new("script");
        script.args(["-qec", concat!(env!("CARGO_BIN_EXE_varve"), " --help"), "/dev/null"]);
        script.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("CLICOLOR").stdin(Stdio::null());
        script.envs(no_color.map(|value| ("NO_COLOR", value)));
        script.output()
    };
    if !varve_testkit::has_program("script") {
        return;
    }
    let output = on_terminal(None).unwrap();
    assert!(stdout(&output).contains('\u{1b}'), "{}", stdout(&output));
    assert!(!stdout(&on_terminal(Some("1")).unwrap()).contains('\u{1b}'));
}
