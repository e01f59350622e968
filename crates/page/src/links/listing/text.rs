//! A sitemap in plain text: one address a line. Other lines are ignored.

use crate::links::emit::{LinkEmitter, RawLink, is_web, trim};
use crate::links::link::{LinkPlace, LinkRole};
use std::io::{self, BufRead, Read};

/// Emits the address on each line.
pub(super) fn links(
    mut reader: impl BufRead,
    offset: Option<u64>,
    emitter: &mut LinkEmitter<'_>,
) -> io::Result<()> {
    let mut offset = offset;
    let mut line = Vec::new();
    let most = emitter.limits.reference as u64 + 2;
    let mut continues = false;
    while !emitter.is_full() {
        line.clear();
        let length = reader.by_ref().take(most).read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        let ended = line.last() == Some(&b'\n');
        if continues || (!ended && length as u64 == most) {
            emitter.report.oversized += u64::from(!continues);
        } else {
            hand_over(&line, offset, emitter);
        }
        continues = !ended;
        offset = offset.map(|offset| offset + length as u64);
    }
    Ok(())
}

fn hand_over(line: &[u8], offset: Option<u64>, emitter: &mut LinkEmitter<'_>) {
    let line = String::from_utf8_lossy(line);
    let address = trim(&line);
    if is_web(address) && !address.contains(char::is_whitespace) {
        emitter.emit(RawLink::new(address, LinkPlace::Line, LinkRole::Navigate).at(offset));
    }
}
