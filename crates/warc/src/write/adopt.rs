//! Records that are already packed, copied from one file to another of the same packing.

use std::io::{self, Read};

use varve_file::TemporaryFolder;

use super::draft::BlockFacts;
use super::pack::{PackedRecord, spool};
use super::record_uri::RecordUri;
use crate::record::RecordHeader;

impl PackedRecord {
    /// A record that is already packed: `packed` gives exactly its bytes. Long ones are kept in a
    /// temporary file in `temporary`, or in the system's folder.
    pub fn adopt(
        header: &RecordHeader,
        block: BlockFacts,
        packed: &mut dyn Read,
        temporary: Option<&TemporaryFolder>,
    ) -> io::Result<Self> {
        let mut lines = b"WARC/1.1\r\n".to_vec();
        for (name, value) in header.fields.iter() {
            lines.extend([name, b": ", value, b"\r\n"].concat());
        }
        let id = RecordUri::escaped(&String::from_utf8_lossy(header.record_id().unwrap_or_default()));
        let mut spool = spool(temporary);
        let length = io::copy(packed, &mut spool)?;
        let (head, tail) = (Vec::new(), Vec::new());
        Ok(Self { id, block, header: lines, head, middle: Some(spool), tail, length })
    }
}
