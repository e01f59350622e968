//! Reports a panic as a bug in varve.
//!
//! The panic hook prints the report, and `guard` alone ends the process: code that catches a panic
//! on purpose, such as a parser on its own thread, can continue, and destructors still run.

use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use crate::exit_status::EXIT_BUG;

/// Runs `program`. A panic in it is reported as a bug and becomes the exit code for one.
pub(crate) fn guard(program: impl FnOnce() -> u8) -> u8 {
    panic::set_hook(Box::new(report));
    panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or(EXIT_BUG)
}

fn report(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
    let backtrace = std::backtrace::Backtrace::capture();
    let mut text = format!("error: this is a bug in varve: {message}{place}\n");
    if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
        text.push_str(&format!("{backtrace}"));
    }
    text.push_str(
        "hint: please report the lines above, the output of `varve --version`, and the command you ran\n",
    );
    // If stderr is closed too, the report is lost.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const CHILD_VARIABLE: &str = "VARVE_TEST_BUG_CHILD";

    /// Panics in the child process of the test below.
    #[test]
    fn child() {
        if std::env::var_os(CHILD_VARIABLE).is_some() {
            std::process::exit(guard(|| panic!("the layers are upside down")).into());
        }
    }

    #[test]
    fn a_panic_is_reported_as_a_bug_and_exits_255() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "panic_report::tests::child", "--nocapture"])
            .env(CHILD_VARIABLE, "1")
            .env_remove("RUST_BACKTRACE")
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(255), "{stderr}");
        assert!(
            stderr.starts_with("error: this is a bug in varve: the layers are upside down at "),
            "{stderr}"
        );
        assert!(stderr.contains("src/panic_report.rs:"), "{stderr}");
        assert!(stderr.contains("\nhint: please report the lines above"), "{stderr}");
    }
}
