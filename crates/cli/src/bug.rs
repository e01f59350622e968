//! What happens when varve itself is wrong: the one place that knows of panics.
//!
//! A panic is never the user's fault, so it says so, says what to send, and ends with its own exit code.
//! The hook only speaks and `guard` alone ends the process: code that contains a panic on purpose (a parser
//! on its own thread, say) must be able to go on, and destructors still run on the way out.

use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

/// The exit code that means "this is a bug in varve".
const BUG: u8 = 255;

/// Runs `program`; a panic in it is reported as a bug and becomes the exit code for one.
pub(crate) fn guard(program: impl FnOnce() -> u8) -> u8 {
    panic::set_hook(Box::new(report));
    panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or(BUG)
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
        "hint: please report the lines above, what `varve --version` prints, and the command you ran\n",
    );
    // Nobody is left to tell when stderr is closed too.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const CHILD: &str = "VARVE_TEST_BUG_CHILD";

    /// The other half of the test below: in the child process it panics for real.
    #[test]
    fn child() {
        if std::env::var_os(CHILD).is_some() {
            std::process::exit(guard(|| panic!("the layers are upside down")).into());
        }
    }

    #[test]
    fn a_panic_says_that_it_is_a_bug_and_exits_255() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "bug::tests::child", "--nocapture"])
            .env(CHILD, "1")
            .env_remove("RUST_BACKTRACE")
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(255), "{stderr}");
        assert!(
            stderr.starts_with("error: this is a bug in varve: the layers are upside down at "),
            "{stderr}"
        );
        assert!(stderr.contains("src/bug.rs:"), "{stderr}");
        assert!(stderr.contains("\nhint: please report the lines above"), "{stderr}");
    }
}
