//! `store`, `get`, `filter`: single objects.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_archive::RepositoryError;

use varve_archive::verbs::filter;
use varve_archive::verbs::get::{ByteRange, find};
use varve_archive::verbs::housekeeping::housekeeping;
use varve_archive::verbs::store::{NewObjectSource, Request, SyncPolicy, store};
use varve_archive::{ArchiveError, Objects, RecordId, StoreError};
use varve_warc::digest::Algorithm;
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::Draft;

use crate::{Scene, files, noise, store_all};

fn get(scene: &Scene, id: &str, range: Option<ByteRange>) -> Result<Vec<u8>, String> {
    let archive = scene.archive();
    let mut bytes = Vec::new();
    let found = find(&archive, id).map_err(|error| error.to_string())?;
    found.write_to(range, &mut bytes, &|_| {}).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn threads(threads: usize) -> Request {
    Request { threads, ..Request::default() }
}

#[test]
fn files_come_back_in_order_and_each_content_is_kept_once() {
    let scene = Scene::new();
    let contents: Vec<_> = (0..40).map(|number| noise(number * 97, number as u64 % 30)).collect();
    let paths: Vec<_> =
        (0..40).map(|number| scene.file(&format!("{number}.bin"), &contents[number])).collect();
    let paths: Vec<&Path> = paths.iter().map(|path| path.as_path()).collect();
    let kept = store_all(&scene.writer(), &threads(4), files(&paths));
    for (kept, content) in kept.iter().zip(&contents) {
        let kept = kept.as_ref().unwrap();
        assert_eq!(kept.length, content.len() as u64);
        assert_eq!(get(&scene, &kept.id.to_string(), None).unwrap(), *content);
    }
    let again = store_all(&scene.writer(), &threads(4), files(&paths));
    for (kept, again) in kept.iter().zip(&again) {
        let (kept, again) = (kept.as_ref().unwrap(), again.as_ref().unwrap());
        assert_eq!((kept.id, kept.length, false), (again.id, again.length, again.new));
    }
}

#[test]
fn large_content_is_cut_into_segments_and_not_packed_twice() {
    let scene = Scene::new();
    let content = noise(3_500_000, 5);
    let path = scene.file("large", &content);
    let read = AtomicU64::new(0);
    let progress = |bytes: u64| {
        read.fetch_add(bytes, Ordering::Relaxed);
    };
    let writer = scene.writer();
    for new in [true, false] {
        let mut kept = None;
        store(&writer, &threads(2), files(&[&path]).into_iter(), &progress, |_, result| {
            kept = Some(result?);
            Ok(())
        })
        .unwrap();
        let kept = kept.unwrap();
        assert_eq!((kept.new, kept.length), (new, 3_500_000));
        assert_eq!(read.swap(0, Ordering::Relaxed), 3_500_000);
        assert_eq!(get(&scene, &kept.id.to_string(), None).unwrap(), content);
        let middle = get(&scene, &kept.id.to_string(), Some(ByteRange::From(1_000_000, Some(2_999_999))));
        assert_eq!(middle.unwrap(), content[1_000_000..3_000_000]);
    }
}

#[test]
fn a_file_that_cannot_be_read_does_not_stop_the_others() {
    let scene = Scene::new();
    let (one, two) = (scene.file("one", b"1"), scene.file("two", b"2"));
    let missing = scene.path("missing");
    let paths = [one.as_path(), &missing, scene.folder.path(), &two];
    let kept = store_all(&scene.writer(), &threads(2), files(&paths));
    assert!(kept[0].is_ok() && kept[3].is_ok());
    assert!(
        matches!(&kept[1], Err(ArchiveError::Repository(RepositoryError::Read { path, .. })) if *path == missing)
    );
    assert!(matches!(&kept[2], Err(ArchiveError::Folder(_))));
}

#[test]
fn ids_are_found_in_either_form_any_case_and_by_prefix() {
    let scene = Scene::new();
    let id = scene.store_bytes(b"x");
    let digits = id.to_string().replace("urn:sha256:", "");
    let texts = [
        digits.clone(),
        digits.to_uppercase(),
        id.to_string(),
        id.to_string().to_uppercase(),
        digits[..4].to_owned(),
        format!("urn:sha256:{}", &digits[..9]),
    ];
    for text in texts {
        assert_eq!(get(&scene, &text, None).unwrap(), b"x", "{text}");
    }
    let archive = scene.archive();
    assert!(matches!(archive.resolve(&digits[..3]), Err(RepositoryError::NotAnId { .. })));
    assert!(matches!(archive.resolve("../../etc/passwd"), Err(RepositoryError::NotAnId { .. })));
    assert!(matches!(archive.resolve(&"0".repeat(64)), Err(RepositoryError::Absent { .. })));
}

#[test]
fn an_ambiguous_id_prefix_is_refused_with_the_number_of_matches() {
    let scene = Scene::new();
    let numbers: Vec<NewObjectSource> = (0..3000u32)
        .map(|number| NewObjectSource::Stream(Box::new(io::Cursor::new(number.to_le_bytes().to_vec()))))
        .collect();
    let mut ids: Vec<String> = store_all(&scene.writer(), &threads(2), numbers)
        .into_iter()
        .map(|kept| kept.unwrap().id.to_string().replace("urn:sha256:", ""))
        .collect();
    ids.sort();
    let (one, _) = ids.iter().zip(&ids[1..]).find(|(one, other)| one[..4] == other[..4]).unwrap();
    let same = ids.iter().filter(|id| id[..4] == one[..4]).count();
    match scene.archive().resolve(&one[..4]) {
        Err(RepositoryError::Store(StoreError::Ambiguous { count, .. })) => {
            assert_eq!(count, same)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn ranges_are_those_of_http() {
    let scene = Scene::new();
    let id = scene.store_bytes(b"0123456789").to_string();
    let range = |range| get(&scene, &id, Some(range));
    assert_eq!(range(ByteRange::From(2, Some(4))).unwrap(), b"234");
    assert_eq!(range(ByteRange::From(7, None)).unwrap(), b"789");
    assert_eq!(range(ByteRange::From(7, Some(u64::MAX))).unwrap(), b"789");
    assert_eq!(range(ByteRange::Last(3)).unwrap(), b"789");
    assert_eq!(range(ByteRange::Last(99)).unwrap(), b"0123456789");
    assert!(range(ByteRange::From(10, None)).unwrap_err().contains("has 10 bytes"));
    let empty = scene.store_bytes(b"").to_string();
    assert_eq!(get(&scene, &empty, Some(ByteRange::From(0, None))).unwrap(), b"");
}

#[test]
fn the_id_of_a_body_gives_the_body_and_that_of_its_record_the_message() {
    let scene = Scene::new();
    let message =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
    let writer = scene.writer();
    let draft = Draft::new(RecordType::Response, &writer.now()).target_uri("http://example.com/").http();
    let mut packer = writer.store().packer().unwrap();
    let record = packer.pack(&draft, PayloadKind::Response, message).unwrap();
    let record_id = record.id.to_string();
    writer.store().keep(record).unwrap();
    writer.store().sync().unwrap();
    drop(writer);
    let body_id = data_encoding::HEXLOWER.encode(Algorithm::Sha256.digest(b"hello world").bytes());
    assert_eq!(get(&scene, &record_id, None).unwrap(), message);
    assert_eq!(get(&scene, &body_id, None).unwrap(), b"hello world");
    assert_eq!(get(&scene, &body_id[..8], Some(ByteRange::From(2, Some(7)))).unwrap(), b"llo wo");
    assert_eq!(get(&scene, &body_id, Some(ByteRange::Last(5))).unwrap(), b"world");
    assert!(get(&scene, &body_id, Some(ByteRange::From(11, None))).unwrap_err().contains("has 11 bytes"));
    let archive = scene.archive();
    let (found, whole) = (find(&archive, &body_id).unwrap(), find(&archive, &record_id).unwrap());
    assert_eq!((found.is_body(), found.length()), (true, None));
    assert_eq!((whole.is_body(), whole.length()), (false, Some(message.len() as u64)));
}

#[test]
fn content_of_a_lost_silo_is_reported_and_can_be_stored_again() {
    let scene = Scene::new();
    let id = scene.store_bytes(b"lost").to_string();
    let silo = scene.root().join("warc/0/00000000.warc.gz");
    let copy = fs::read(&silo).unwrap();
    fs::remove_file(&silo).unwrap();
    assert!(get(&scene, &id, None).unwrap_err().contains("silo 0 is missing"));
    assert!(get(&scene, &id[..20], None).unwrap_err().contains("silo 0 is missing"));
    assert!(get(&scene, &"00".repeat(32), None).unwrap_err().contains("nothing in this archive"));
    // It goes to another silo, so that the lost one can come back.
    assert_eq!(scene.store_bytes(b"lost").to_string(), id);
    assert!(!silo.exists() && scene.root().join("warc/0/00000001.warc.gz").exists());
    assert_eq!(get(&scene, &id, None).unwrap(), b"lost");
    fs::write(&silo, copy).unwrap();
    assert_eq!(get(&scene, &id, None).unwrap(), b"lost");
}

#[test]
fn metadata_refers_to_a_stored_object() {
    let scene = Scene::new();
    let id = scene.store_bytes(b"thing");
    let about = |refers_to: &str| Request {
        media_type: Some("text/plain".into()),
        refers_to: Some(refers_to.into()),
        ..threads(1)
    };
    let note = || vec![NewObjectSource::Stream(Box::new(&b"note"[..]))];
    let writer = scene.writer();
    let prefix = &id.to_string()["urn:sha256:".len()..][..8];
    let kept = store_all(&writer, &about(prefix), note()).remove(0).unwrap();
    let full = store_all(&writer, &about(&id.to_string()), note()).remove(0).unwrap();
    assert_eq!((kept.id, kept.new, full.new), (full.id, true, false));
    let other = store_all(&writer, &about("urn:uuid:6a7d0f3e-0000-4000-8000-000000000000"), note()).remove(0);
    assert_ne!(other.unwrap().id, kept.id);
    let refused = store(&writer, &about(&"0".repeat(64)), note().into_iter(), &|_| {}, |_, _| Ok(()));
    assert!(matches!(refused, Err(ArchiveError::Repository(RepositoryError::Absent { .. }))));
    drop(writer);
    let archive = scene.archive();
    let found = find(&archive, &kept.id.to_string()).unwrap();
    let header: Vec<_> = found.header().collect();
    assert!(header.contains(&("WARC-Type".into(), "metadata".into())), "{header:?}");
    assert!(header.contains(&("WARC-Refers-To".into(), format!("<{id}>"))), "{header:?}");
}

#[test]
fn a_media_type_must_be_one() {
    let scene = Scene::new();
    let request = Request { media_type: Some("text\r\nX-Evil: 1".into()), ..threads(1) };
    let refused = store(&scene.writer(), &request, std::iter::empty(), &|_| {}, |_, _| Ok(()));
    assert!(matches!(refused, Err(ArchiveError::MediaType(_))));
}

/// When `each` hears of an object, another process can already read it.
#[test]
fn an_id_is_given_out_only_when_its_object_can_be_read() {
    for sync in [SyncPolicy::Batch, SyncPolicy::Each] {
        let scene = Scene::new();
        let writer = scene.writer();
        let sources = (0..50u32)
            .map(|number| NewObjectSource::Stream(Box::new(io::Cursor::new(vec![7; number as usize]))));
        let request = Request { sync, ..threads(3) };
        let mut heard = 0;
        store(&writer, &request, sources, &|_| {}, |_, kept| {
            let kept = kept?;
            let length = scene.archive().object(kept.id)?.length();
            assert_eq!(length, kept.length);
            heard += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(heard, 50);
    }
}

/// A file that is cut to half while it is read.
struct Shrinking {
    path: std::path::PathBuf,
    file: fs::File,
    left: u64,
}

impl Read for Shrinking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        if self.left == 0 {
            fs::OpenOptions::new().write(true).open(&self.path)?.set_len(1_500_000)?;
        }
        Ok(count)
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_stored_as_read() {
    let scene = Scene::new();
    let content = noise(3_000_000, 9);
    let path = scene.file("shrinking", &content);
    let source = Shrinking { path: path.clone(), file: fs::File::open(&path).unwrap(), left: 1_100_000 };
    let kept = store_all(&scene.writer(), &threads(1), vec![NewObjectSource::Stream(Box::new(source))]);
    let kept = kept[0].as_ref().unwrap();
    assert_eq!(kept.length, 1_500_000);
    assert_eq!(get(&scene, &kept.id.to_string(), None).unwrap(), content[..1_500_000]);
}

/// The progress hook runs while the file is read: a place to change it at a known moment.
#[test]
fn a_file_that_changes_between_hashing_and_packing_has_the_id_of_its_bytes() {
    let scene = Scene::new();
    let content = noise(3_000_000, 11);
    let path = scene.file("changing", &content);
    let cut = std::sync::Once::new();
    let progress = |_| {
        cut.call_once(|| fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(2_000_000).unwrap())
    };
    let mut kept = None;
    store(&scene.writer(), &threads(1), files(&[&path]).into_iter(), &progress, |_, result| {
        kept = Some(result?);
        Ok(())
    })
    .unwrap();
    let kept = kept.unwrap();
    assert_eq!(kept.length, 2_000_000);
    assert_eq!(get(&scene, &kept.id.to_string(), None).unwrap(), content[..2_000_000]);
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let scene = Scene::new();
    let id = scene.store_bytes(b"content").to_string();
    let archive = scene.archive();
    let found = find(&archive, &id).unwrap();
    let target = scene.path("out");
    found.write_to_file(None, &target, false, &|_| {}).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"content");
    let again = found.write_to_file(None, &target, false, &|_| {});
    assert!(matches!(again, Err(ArchiveError::Exists(_))));
    found.write_to_file(Some(ByteRange::Last(2)), &target, true, &|_| {}).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"nt");
    assert!(matches!(
        found.write_to_file(None, scene.folder.path(), true, &|_| {}),
        Err(ArchiveError::Folder(_))
    ));
    drop(archive);
    damage(&scene);
    let archive = scene.archive();
    let damaged = scene.path("damaged");
    let result = find(&archive, &id).and_then(|found| found.write_to_file(None, &damaged, false, &|_| {}));
    assert!(result.is_err());
    assert!(!damaged.exists());
    let leftovers = fs::read_dir(scene.folder.path()).unwrap();
    assert!(
        leftovers.into_iter().all(|entry| !entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".varve-"))
    );
}

/// Flips a bit in the middle of the last record of the first silo.
fn damage(scene: &Scene) {
    let silo = scene.root().join("warc/0/00000000.warc.gz");
    let mut bytes = fs::read(&silo).unwrap();
    let last = bytes.windows(3).rposition(|window| window == [0x1f, 0x8b, 8]).unwrap();
    let middle = (last + bytes.len()) / 2;
    bytes[middle] ^= 0x10;
    fs::write(&silo, bytes).unwrap();
}

#[test]
fn filter_finds_stored_ids_also_after_housekeeping() {
    let scene = Scene::new();
    let id = scene.store_bytes(b"here");
    let objects = || Objects::Archive(Box::new(scene.archive()));
    let parse = |text: &str| filter::parse(text);
    let ids = [RecordId::new([1; 32]), id, RecordId::new([2; 32])]
        .map(|id| parse(&id.to_string().to_uppercase()).unwrap());
    assert_eq!(filter::here(&objects(), &ids).unwrap(), [false, true, false]);
    let done = housekeeping(&scene.writer()).unwrap();
    assert!(done.merged > 0);
    assert_eq!(filter::here(&objects(), &ids).unwrap(), [false, true, false]);
    assert!(id.to_string().ends_with(&ids[1]), "{ids:?}");
    assert!(parse("abcd").is_err());
}
