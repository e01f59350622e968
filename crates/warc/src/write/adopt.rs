//! Records that are packed already, taken over from one file into another of the same packing.

use std::io::{self, Read};
use std::path::Path;

use super::draft::BlockFacts;
use super::pack::{PackedRecord, spool};
use crate::record::Header;

impl PackedRecord {
    /// A record that is packed already, as it lies in a file of that packing: `packed` gives its bytes and nothing else. Long
    /// ones wait in a temporary file in `temporary`, or in the system's folder.
    pub fn adopt(
        header: &Header,
        block: BlockFacts,
        packed: &mut dyn Read,
        temporary: Option<&Path>,
    ) -> io::Result<Self> {
        let mut lines = b"WARC/1.1\r\n".to_vec();
        for (name, value) in header.fields.iter() {
            lines.extend([name, b": ", value, b"\r\n"].concat());
        }
        let id = header.record_id().map(|id| String::from_utf8_lossy(id).into_owned()).unwrap_or_default();
        let mut spool = spool(temporary);
        let length = io::copy(packed, &mut spool)?;
        let (head, tail) = (Vec::new(), Vec::new());
        Ok(Self { id, block, header: lines, head, middle: Some(spool), tail, length })
    }
}
