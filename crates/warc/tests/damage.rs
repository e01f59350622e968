//! Damage of every kind at every place of a small file: only the damaged record is lost, and a
//! finding names the place.

mod made;

use std::sync::atomic::{AtomicUsize, Ordering};

use made::{Archive, Read, ReadAll, archive, inspected, read_all, some_records, with_neighbours_hit};
use varve_warc::Encoding;
use varve_warc::rules::{Rule, WarcFinding};

/// The records of the undamaged file.
fn whole(file: &Archive) -> Vec<Read> {
    read_all(&file.bytes).expect("a right file").records
}

/// Runs `check` with each bit of the file flipped, with the number of the record that holds the
/// bit, on two threads.
fn with_each_bit_flipped(file: &Archive, check: impl Fn(&[u8], usize, usize) + Sync) {
    std::thread::scope(|scope| {
        for parity in 0..2 {
            let check = &check;
            scope.spawn(move || {
                let mut damaged = file.bytes.clone();
                for at in (0..damaged.len()).filter(|at| at % 2 == parity) {
                    let number = file.places.iter().position(|place| place.contains(&at)).expect("a record");
                    for bit in 0..8 {
                        damaged[at] ^= 1 << bit;
                        check(&damaged, number, at);
                        damaged[at] ^= 1 << bit;
                    }
                }
            });
        }
    });
}

/// Whether every record but one is unchanged and in order.
fn has_all_but(read: &ReadAll, right: &[Read], number: usize) -> bool {
    let mut found = read.records.iter();
    let mut others = right.iter().enumerate().filter(|(other, _)| *other != number);
    others.all(|(_, right)| found.any(|read| read.is(right)))
}

fn is_named(findings: &[WarcFinding], file: &Archive, number: usize) -> bool {
    findings.iter().any(|finding| file.places[number].contains(&(finding.offset as usize)))
}

/// A compressed member carries a checksum. So for any flipped bit every other record is unchanged.
/// Either a finding names a place in the damaged member, or the bit has no meaning (as in the
/// modification time) and all records are unchanged.
#[test]
fn a_flipped_bit_in_a_compressed_record() {
    for packing in [Encoding::Gzip, Encoding::Zstd] {
        let file = archive(packing, &some_records());
        let right = whole(&file);
        with_each_bit_flipped(&file, |damaged, number, at| {
            let read = read_all(damaged).unwrap_or_else(|error| panic!("{packing:?}, byte {at}: {error}"));
            assert!(has_all_but(&read, &right, number), "{packing:?}, byte {at}: {:?}", read.findings);
            if read.findings.is_empty() {
                assert_eq!(read.records, right, "{packing:?}, byte {at}: changed and not found");
            } else {
                assert!(
                    is_named(&read.findings, &file, number),
                    "{packing:?}, byte {at}: {:?}",
                    read.findings
                );
            }
        });
    }
}

/// A plain file has no checksum but the digests, so the format leaves two gaps: a changed letter in
/// a header line may go unseen, and a wrong length that ends right before a later record makes
/// those between part of the block. Otherwise every other record is unchanged. A finding names a
/// place in the damaged record when the bit was in its block, after it, or changed the extent of
/// the block.
#[test]
fn a_flipped_bit_in_a_plain_record() {
    let file = archive(Encoding::Plain, &some_records());
    let right = whole(&file);
    let swallowed_by_chance = AtomicUsize::new(0);
    with_each_bit_flipped(&file, |damaged, number, at| {
        let read = read_all(damaged).unwrap_or_else(|error| panic!("byte {at}: {error}"));
        if !has_all_but(&read, &right, number) {
            let next = &file.bytes[file.places[number + 1].clone()];
            let block = &read.records[number].block;
            let held = memchr::memmem::find(block, next.trim_ascii_end()).is_some();
            assert!(held, "byte {at}: {:?}", read.findings);
            swallowed_by_chance.fetch_add(1, Ordering::Relaxed);
        }
        let same_block =
            read.records.len() == right.len() && read.records[number].block == right[number].block;
        let header_end = file.places[number].end - 4 - right[number].block.len();
        if !same_block || at >= header_end {
            let report = inspected(damaged);
            assert!(is_named(&report.findings, &file, number), "byte {at}: {:?}", report.findings);
        }
    });
    assert!(swallowed_by_chance.into_inner() <= 1, "a false length seldom ends before a record");
}

/// Records before the cut are read, and the last good byte is where the last complete record ends.
#[test]
fn a_cut_at_every_byte() {
    for packing in made::PACKINGS {
        let file = archive(packing, &some_records());
        let right = whole(&file);
        for cut in 0..=file.bytes.len() {
            let before = file.places.iter().take_while(|place| place.end <= cut).count();
            let good = before.checked_sub(1).map_or(0, |last| file.places[last].end);
            let read = match read_all(&file.bytes[..cut]) {
                Ok(read) => read,
                // The rest of the first record may not be enough to recognise the file.
                Err(_) if before == 0 => continue,
                Err(error) => panic!("{packing:?}, cut at {cut}: {error}"),
            };
            assert_eq!(read.records.get(..before), Some(&right[..before]), "{packing:?}, cut at {cut}");
            assert_eq!(read.last_good_offset, good as u64, "{packing:?}, cut at {cut}");
            assert_eq!(
                read.findings.is_empty(),
                cut == good,
                "{packing:?}, cut at {cut}: {:?}",
                read.findings
            );
        }
    }
}

/// A zstd frame shows nothing before its first block is complete, which may have 128 KiB: a record
/// after damage must be found nevertheless.
#[test]
fn a_large_block_after_damage_is_found() {
    use varve_warc::date::Date;
    use varve_warc::payload::PayloadKind;
    use varve_warc::record::RecordType;
    use varve_warc::write::{Draft, Packer, Packing, WarcWriter};

    for packing in [Packing::Gzip, Packing::Zstd { level: 3, dictionary: None }] {
        let mut packer = Packer::new(packing.clone(), None).expect("a packer");
        let mut writer = WarcWriter::new(Vec::new(), &packing).expect("memory");
        let date = Date::parse(b"2026-11-15T12:00:00Z").expect("a date");
        let mut state = 1_u32;
        let mut places = Vec::new();
        for _ in 0..3 {
            let block: Vec<u8> = std::iter::repeat_with(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b'a' + (state >> 24) as u8 % 23
            })
            .take(150_000)
            .collect();
            let draft = Draft::new(RecordType::Resource, &date).target_uri("urn:x:y").content_type("a/b");
            let record = packer.pack(&draft, PayloadKind::Block, &block).expect("packed");
            places.push(writer.append(record).expect("memory").offset);
        }
        let mut file = writer.into_inner();
        file[places[1] as usize] ^= 1;
        let mut reader = varve_warc::WarcReader::new(&file).expect("an archive");
        let mut found = Vec::new();
        while let Some(record) = reader.next_record().expect("memory") {
            found.push(record.offset());
        }
        assert_eq!(found, [places[0], places[2]], "{packing:?}");
    }
}

/// After a damaged member the reader searches for the next one that begins a record. The bytes
/// between are reported: a zstd frame gives its end, so each is reported on its own; for gzip
/// members the finding gives the end of the range.
#[test]
fn damaged_neighbours_are_reported() {
    for (hit, what_follows) in [(2..5, None), (5..8, Some("the end of the file"))] {
        for packing in [Encoding::Gzip, Encoding::Zstd] {
            let file = with_neighbours_hit(packing, hit.clone());
            let report = inspected(&file.bytes);
            assert_eq!(report.records, 5, "{packing:?}: {:?}", report.findings);
            let damaged: Vec<&WarcFinding> =
                report.findings.iter().filter(|finding| finding.rule == Rule::MemberDamaged).collect();
            let together = if packing == Encoding::Zstd { 1 } else { hit.len() };
            let stretch = |number: usize| file.places[number].start..file.places[number + together - 1].end;
            let stretches: Vec<_> = hit.clone().step_by(together).map(stretch).collect();
            assert_eq!(damaged.len(), stretches.len(), "{packing:?}: {damaged:?}");
            for (finding, stretch) in damaged.iter().zip(stretches) {
                assert_eq!(finding.offset, stretch.start as u64, "{packing:?}");
                let is_last = stretch.end == file.bytes.len();
                let end =
                    what_follows.filter(|_| is_last).map_or(format!("byte {}", stretch.end), str::to_owned);
                let told = format!("nothing else could be read of the {} bytes up to {end}", stretch.len());
                assert!(finding.message.ends_with(&told), "{packing:?}: {}", finding.message);
            }
        }
    }
}

/// Frames inside frames, each followed by thousands of useless blocks: following them is paid from
/// the budget.
#[test]
fn following_blocks_is_bounded() {
    let first = made::packed(Encoding::Zstd, &made::response(0, b"x"));
    // A frame without a size whose first block is broken, then empty blocks.
    let broken = [&b"\x28\xb5\x2f\xfd\x04\x00"[..], &[0x0c, 0, 0, 0xff]].concat();
    let file = [first, broken.repeat(200), vec![0; 3_000_000]].concat();
    let reads = AtomicUsize::new(0);
    let report = inspected(&Counting { bytes: &file, reads: &reads });
    assert_eq!(report.records, 1, "{:?}", report.findings);
    let reads = reads.into_inner();
    assert!(reads < 400_000, "{reads} reads");
}

/// Bytes whose reads are counted.
struct Counting<'a> {
    bytes: &'a [u8],
    reads: &'a AtomicUsize,
}

impl varve_wire::ReadAt for Counting<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes.read_at(buffer, offset)
    }

    fn size(&self) -> std::io::Result<u64> {
        self.bytes.size()
    }
}
