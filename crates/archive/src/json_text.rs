//! JSON that every reader understands: integers that a 64-bit float cannot hold are strings.
//!
//! JavaScript, jq and others read numbers as 64-bit floats and silently round greater integers.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// The greatest integer up to which a 64-bit float holds all integers: 2^53.
pub const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// A value as compact JSON text on one line. Integers beyond [`MAX_EXACT_INTEGER`] are strings.
pub fn json_text(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, ExactIntegers))?;
    Ok(String::from_utf8(bytes).expect("serde_json writes UTF-8"))
}

/// Writes compact JSON with quotes around large integers.
struct ExactIntegers;

impl Formatter for ExactIntegers {
    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        match value {
            0..=MAX_EXACT_INTEGER => write!(writer, "{value}"),
            _ => write!(writer, "\"{value}\""),
        }
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        match value.unsigned_abs() {
            0..=MAX_EXACT_INTEGER => write!(writer, "{value}"),
            _ => write!(writer, "\"{value}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn integers_that_a_float_cannot_hold_are_strings() {
        let value = json!({ "most": 1_u64 << 53, "more": (1_u64 << 53) + 1, "less": -(1_i64 << 53) - 1 });
        let text = r#"{"most":9007199254740992,"more":"9007199254740993","less":"-9007199254740993"}"#;
        assert_eq!(json_text(&value).unwrap(), text);
        assert_eq!(json_text(&[u64::MAX]).unwrap(), r#"["18446744073709551615"]"#);
        assert_eq!(json_text(&json!([0, -1, 1.5, null, "1"])).unwrap(), r#"[0,-1,1.5,null,"1"]"#);
    }
}
