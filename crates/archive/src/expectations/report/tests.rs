//! Each form of the report, whole.

use super::*;
use varve_core::{BodyId, RecordId};
use varve_expect::{Departure, UrlHealth};

fn checked(url: &str, verdict: Verdict, status: Option<u16>) -> CheckedUrl {
    let file = Some(PathBuf::from("urls/example.com.yaml"));
    CheckedUrl { verdict, status, file, line: Some(4), ..CheckedUrl::new(url) }
}

fn version(byte: u8) -> VersionId {
    VersionId::new(uuid::Uuid::from_bytes([byte; 16]))
}

fn good(version: VersionId) -> Capture {
    let (belongs, url) = (CaptureOwner::Version(version), "http://example.com/a".to_owned());
    let (time, record) = ("2025-12-31T00:00:00Z".parse().unwrap(), RecordId::new([0x55; 32]));
    Capture {
        id: Capture::derive_id(belongs, &url, time, &record),
        owner: belongs,
        path: "/a".to_owned(),
        url,
        time,
        status: 200,
        headers: Default::default(),
        body: BodyId::new([0x11; 32]),
        length: Some(5),
        record: Some(record),
        truncated: false,
    }
}

fn report(format: ReportFormat) -> String {
    let length = Departure::Length { expected: 5, got: 7 };
    let digest = Departure::Digest { expected: BodyId::new([0x11; 32]), got: BodyId::new([0x22; 32]) };
    let mut all = [
        checked("http://example.com/", Verdict::Ok, Some(200)),
        checked("http://example.com/a?b=1&c=\"2\"", Verdict::of(vec![length, digest]), Some(200)),
        checked("http://example.com/x%20y", Verdict::Unreachable("timed out\n::error::no".into()), None),
        checked("http://example.com/old", Verdict::Skipped("deprecated".into()), None),
    ];
    all[0].took = Some(Duration::from_micros(35_400));
    all[1].took = Some(Duration::from_millis(1250));
    all[2].took = Some(Duration::ZERO);
    all[1].archived.since = Some("2026-01-02T03:04:05Z".into());
    all[1].archived.capture = Some("c0ffee".into());
    all[1].archived.check = Some(CheckId::new(uuid::Uuid::from_bytes([0x44; 16])));
    all[1].archived.last_good = Some(Box::new(GoodCapture { capture: good(version(0x33)), check: None }));
    let mut reporter = CheckReporter::new(format);
    let lines: String = all.iter().map(|checked| reporter.add(checked)).collect();
    lines + &reporter.close()
}

#[test]
fn for_people() {
    let ones = "1".repeat(64);
    let twos = "2".repeat(64);
    let wanted = format!(
        "ok           http://example.com/
changed      http://example.com/a?b=1&c=\"2\": content length changed from 5 bytes to 7 bytes; content changed from sha256 {ones} to sha256 {twos}
             failing since 2026-01-02T03:04:05Z, last good 2025-12-31T00:00:00Z in version 33333333, this answer in check 44444444
unreachable  http://example.com/x%20y: timed out\\n::error::no
skipped      http://example.com/old: deprecated
4 URLs: 1 ok, 1 changed, 0 broken, 1 unreachable, 1 skipped
"
    );
    assert_eq!(report(ReportFormat::Text), wanted);
}

#[test]
fn for_programs() {
    let text = report(ReportFormat::Json);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(
        text.lines().next().unwrap(),
        r#"{"url":"http://example.com/","verdict":"ok","status":200,"expected":null,"got":null,"since":null,"capture":null,"reason":null}"#
    );
    assert_eq!(lines[1]["expected"], format!("5 bytes; sha256 {}", "1".repeat(64)));
    assert_eq!(lines[1]["got"], format!("7 bytes; sha256 {}", "2".repeat(64)));
    assert_eq!(lines[1]["since"], "2026-01-02T03:04:05Z");
    assert_eq!(lines[1]["check"], "44444444-4444-4444-4444-444444444444");
    assert_eq!(lines[1]["last_good"]["version"], "33333333-3333-3333-3333-333333333333");
    assert_eq!(lines[2]["got"], "timed out\n::error::no");
    assert_eq!(
        text.lines().last().unwrap(),
        r#"{"summary":{"ok":1,"changed":1,"broken":0,"unreachable":1,"skipped":1,"warnings":0}}"#
    );
}

#[test]
fn a_gone_url_is_called_gone() {
    let mut checked = checked(
        "http://example.com/",
        Verdict::of(vec![Departure::Status { expected: "HTTP 2xx", got: 410 }]),
        Some(410),
    );
    checked.archived.since = Some("2026-01-02T03:04:05Z".into());
    checked.archived.health = Some(UrlHealth::Gone { since: 0 });
    let text = CheckReporter::new(ReportFormat::Text).add(&checked);
    assert!(text.starts_with("broken "), "{text}");
    assert!(text.contains("gone since 2026-01-02T03:04:05Z, never seen good"), "{text}");
}

#[test]
fn for_build_servers() {
    let wanted = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="varve check" tests="4" failures="1" errors="1" skipped="1" time="1.285">
  <testcase classname="urls/example.com.yaml" name="http://example.com/" time="0.035"/>
  <testcase classname="urls/example.com.yaml" name="http://example.com/a?b=1&amp;c=&quot;2&quot;" time="1.250">
    <failure type="changed" message="content length changed from 5 bytes to 7 bytes; content changed from sha256 {} to sha256 {}">failing since 2026-01-02T03:04:05Z, last good 2025-12-31T00:00:00Z in version 33333333, this answer in check 44444444</failure>
  </testcase>
  <testcase classname="urls/example.com.yaml" name="http://example.com/x%20y" time="0.000">
    <error type="unreachable" message="timed out&#10;::error::no"/>
  </testcase>
  <testcase classname="urls/example.com.yaml" name="http://example.com/old">
    <skipped message="deprecated"/>
  </testcase>
</testsuite>
"#,
        "1".repeat(64),
        "2".repeat(64)
    );
    assert_eq!(report(ReportFormat::Junit), wanted);
}

#[test]
fn for_workflows() {
    let wanted = format!(
        "::error file=urls/example.com.yaml,line=4,title=changed::http://example.com/a?b=1&c=\"2\": content length changed from 5 bytes to 7 bytes; content changed from sha256 {} to sha256 {}%0Afailing since 2026-01-02T03:04:05Z, last good 2025-12-31T00:00:00Z in version 33333333, this answer in check 44444444
::error file=urls/example.com.yaml,line=4,title=unreachable::http://example.com/x%2520y: timed out%0A::error::no
4 URLs: 1 ok, 1 changed, 0 broken, 1 unreachable, 1 skipped
",
        "1".repeat(64),
        "2".repeat(64)
    );
    assert_eq!(report(ReportFormat::Github), wanted);
}
