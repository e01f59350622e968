//! Laws of the lines of indexes.

use std::io::BufReader;

use varve_cdx::{CdxColumns, CdxEntry, CdxFileReader, ZipNumSummaryLine, request_query};

/// Reading ends; what was read is written as it was read; a query has its limit.
pub fn index_lines(bytes: &[u8]) {
    // A small buffer: lines are split in all places.
    for entry in CdxFileReader::new(BufReader::with_capacity(7, bytes)).flatten() {
        let mut line = Vec::new();
        entry.write_cdxj(&mut line);
        let line = String::from_utf8(line).expect("a line of texts is UTF-8");
        assert!(!line.contains('\n'), "{line}");
        let again = CdxEntry::parse_cdxj(&line).expect("a written line is read");
        let expected = CdxEntry { key: again.key.clone(), ..entry.clone() };
        assert_eq!(again, without_unsaid(expected));
        let mut columns = Vec::new();
        CdxColumns::default().write_line(&entry, &mut columns);
        let columns = String::from_utf8(columns).expect("a line of texts is UTF-8");
        let again = CdxColumns::default().parse_line(&columns).expect("a written line is read");
        assert_eq!((again.length, again.offset), (entry.length, entry.offset));
    }
    for line in bytes.split(|byte| *byte == b'\n') {
        let _ = str::from_utf8(line).map(ZipNumSummaryLine::parse);
    }
    for kind in
        ["application/json", "multipart/form-data; boundary=-", "application/x-www-form-urlencoded", ""]
    {
        assert!(request_query("POST", kind, bytes).chars().count() <= 4096);
    }
}

/// `-` and an empty text say nothing.
fn without_unsaid(mut entry: CdxEntry) -> CdxEntry {
    for field in [&mut entry.mime, &mut entry.status, &mut entry.digest, &mut entry.filename] {
        field.take_if(|text| text.is_empty() || text == "-");
    }
    entry
}
