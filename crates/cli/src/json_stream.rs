//! What all JSON streams of the program have in common: the schema number, and the form of errors.
//!
//! The fields of each verb are described in `json_fields`.

use serde_json::json;

use crate::error_report::ErrorReport;

/// The number of the schema of all JSON output. It is increased when a field is removed, renamed or
/// changes its type or meaning. New fields do not change it.
pub(crate) const SCHEMA_NUMBER: u32 = 1;

/// The beginning of a JSON object with the schema number as its first field; `None` for other data.
pub(crate) fn with_schema_number(bytes: &[u8]) -> Option<Vec<u8>> {
    let fields = bytes.strip_prefix(b"{")?;
    let comma = if fields.starts_with(b"}") { "" } else { "," };
    Some([format!("{{\"schema\":{SCHEMA_NUMBER}{comma}").as_bytes(), fields].concat())
}

/// An error as a JSON object on one line.
pub(crate) fn error_line(report: &ErrorReport) -> String {
    let ErrorReport { message, causes, hints } = report;
    let error = json!({ "message": message, "causes": causes, "hints": hints });
    json!({ "schema": SCHEMA_NUMBER, "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_number_is_the_first_field() {
        let text = |bytes: &[u8]| with_schema_number(bytes).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(text(b"{\"a\":1}").as_deref(), Some("{\"schema\":1,\"a\":1}"));
        assert_eq!(text(b"{}\n").as_deref(), Some("{\"schema\":1}\n"));
        assert_eq!(text(b"{\"files\":[").as_deref(), Some("{\"schema\":1,\"files\":["));
        assert_eq!(text(b"text"), None);
    }
}
