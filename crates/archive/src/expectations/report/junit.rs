//! For build servers: one test case per URL, in the XML of JUnit. A changed or broken URL is
//! a failure, an unreachable one an error.

use std::time::Duration;

use varve_expect::Verdict;

use super::{CheckedUrl, VerdictCounts};

pub(super) fn case(checked: &CheckedUrl) -> String {
    let name = escaped(&checked.url);
    let class = match &checked.file {
        Some(file) => escaped(&file.to_string_lossy()),
        None => "urls".to_owned(),
    };
    let time = checked.took.map_or_else(String::new, |took| format!(" time=\"{}\"", seconds(took)));
    let open = format!("  <testcase classname=\"{class}\" name=\"{name}\"{time}");
    let reason = escaped(&checked.verdict.reason().unwrap_or_default());
    let word = checked.verdict.kind();
    let failed = |element: &str| {
        let start = format!("{open}>\n    <{element} type=\"{word}\" message=\"{reason}\"");
        match checked.details().join("\n").as_str() {
            "" => format!("{start}/>\n  </testcase>\n"),
            details => format!("{start}>{}</{element}>\n  </testcase>\n", escaped(details)),
        }
    };
    match &checked.verdict {
        Verdict::Ok => format!("{open}/>\n"),
        Verdict::Changed(_) | Verdict::Broken(_) => failed("failure"),
        Verdict::Unreachable(_) => failed("error"),
        Verdict::Skipped(_) => format!("{open}>\n    <skipped message=\"{reason}\"/>\n  </testcase>\n"),
    }
}

pub(super) fn suite(summary: &VerdictCounts, took: Duration, cases: &str) -> String {
    let VerdictCounts { changed, broken, unreachable, skipped, .. } = summary;
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{unreachable}\" skipped=\"{skipped}\" time=\"{}\"",
        summary.total(),
        changed + broken,
        seconds(took)
    );
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"varve check\" {counts}>\n{cases}</testsuite>\n"
    )
}

/// A duration in the format of JUnit.
fn seconds(took: Duration) -> String {
    format!("{:.3}", took.as_secs_f64())
}

/// Escapes text for a quoted attribute. XML cannot express most control characters, so they are
/// replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", u32::from(letter))),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            letter => out.push(letter),
        }
    }
    out
}
