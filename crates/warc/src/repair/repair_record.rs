//! The repair record about a record or a gap: the findings, the original header, and the bytes that
//! belong to no record if they are few. It is written as JSON into a metadata record.

use serde::Serialize;

use crate::rules::WarcFinding;
use crate::stray_bytes::Stray;

/// The content of one repair record.
#[derive(Serialize)]
pub(super) struct Trace<'a> {
    software: &'a str,
    source: &'a str,
    offset: u64,
    findings: Vec<TraceFinding<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) original_header: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) original_arc_line: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) stray: Vec<TraceStray<'a>>,
}

#[derive(Serialize)]
struct TraceFinding<'a> {
    rule: &'static str,
    offset: u64,
    message: &'a str,
}

/// A stretch of bytes that belong to no record: as text, or in Base64, or only its length.
#[derive(Serialize)]
pub(super) struct TraceStray<'a> {
    offset: u64,
    length: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl<'a> Trace<'a> {
    pub(super) fn new(software: &'a str, source: &'a str, offset: u64, findings: &'a [WarcFinding]) -> Self {
        let finding = |finding: &'a WarcFinding| TraceFinding {
            rule: finding.rule.code(),
            offset: finding.offset,
            message: &finding.message,
        };
        Self {
            software,
            source,
            offset,
            findings: findings.iter().map(finding).collect(),
            original_header: None,
            original_arc_line: None,
            stray: Vec::new(),
        }
    }
}

pub(super) fn strays(strays: &[Stray]) -> Vec<TraceStray<'_>> {
    strays
        .iter()
        .map(|stray| {
            let bytes = stray.bytes.as_deref();
            let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
            let base64 = bytes.filter(|_| text.is_none()).map(|bytes| data_encoding::BASE64.encode(bytes));
            TraceStray { offset: stray.offset, length: stray.length, text, base64 }
        })
        .collect()
}
