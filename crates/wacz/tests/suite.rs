//! Packages as programs write them, and as strangers do.

mod support;

use std::io::Read;
use std::sync::Arc;

use support::{Member, deflated, stored, zip};
use varve_testkit::fixtures;
use varve_wacz::{MemberRole, PackageSigner, PageListItem, Wacz, WaczError, ZipRule};
use varve_wire::ReadAt;

fn open(bytes: Vec<u8>) -> Wacz {
    Wacz::open(Arc::new(bytes)).expect("a package")
}

fn rules(package: &Wacz) -> Vec<ZipRule> {
    package.findings().iter().map(|finding| finding.rule).collect()
}

fn content(package: &Wacz, name: &str) -> Result<Vec<u8>, String> {
    let member = package.zip().member(name).ok_or("absent")?;
    let mut bytes = Vec::new();
    let mut reader = package.read(member).map_err(|error| error.to_string())?;
    reader.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn members() -> Vec<Member> {
    vec![
        stored("archive/a.warc.gz", b"records".to_vec()),
        deflated("archive/b.warc", b"more records ".repeat(100)),
        stored("indexes/index.cdx", b"com,example)/ 2026 {}\n".to_vec()),
        deflated("datapackage.json", br#"{"wacz_version":"1.1.1","title":"A crawl"}"#.to_vec()),
        deflated("pages/pages.jsonl", b"{\"format\":\"json-pages-1.0\"}\n{\"url\":\"u:a\"}\n".to_vec()),
    ]
}

#[test]
fn stored_and_deflated_members_of_small_and_large_archives() {
    for zip64 in [false, true] {
        let package = open(zip(&members(), zip64).bytes);
        assert_eq!(rules(&package), []);
        assert_eq!(package.description().unwrap().title.as_deref(), Some("A crawl"));
        let records: Vec<_> = package.members(MemberRole::Records).collect();
        assert_eq!(records.len(), 2);
        let range = package.stored(records[0]).unwrap().expect("stored");
        let mut bytes = [0; 16];
        assert_eq!(range.read_at(&mut bytes, 0).unwrap(), 7);
        assert_eq!(&bytes[..7], b"records");
        assert!(package.stored(records[1]).unwrap().is_none());
        assert_eq!(content(&package, "archive/b.warc").unwrap(), b"more records ".repeat(100));
        let list = package.members(MemberRole::Pages).next().unwrap();
        let pages = package.pages(list).unwrap().map(Result::unwrap);
        assert_eq!(pages.filter(|item| matches!(item, PageListItem::Page(_))).count(), 1);
    }
}

#[test]
fn bytes_before_and_after_the_archive_are_reported() {
    let mut bytes = b"#!/bin/sh\n".to_vec();
    bytes.extend(zip(&members(), true).bytes);
    bytes.extend(b"trailing");
    let package = open(bytes);
    assert_eq!(rules(&package), [ZipRule::ForeignBytes, ZipRule::ForeignBytes]);
    assert_eq!(content(&package, "archive/a.warc.gz").unwrap(), b"records");
}

#[test]
fn the_last_of_several_members_with_one_name_counts() {
    let twice = [stored("archive/a.warc", b"first".to_vec()), stored("archive/a.warc", b"second".to_vec())];
    let package = open(zip(&twice, false).bytes);
    assert_eq!(rules(&package), [ZipRule::DuplicateName]);
    assert_eq!(content(&package, "archive/a.warc").unwrap(), b"second");
    assert_eq!(package.members(MemberRole::Records).count(), 1);
}

#[test]
fn names_that_climb_are_not_read() {
    let names = ["../a.warc", "archive/../../a.warc", "/etc/a.warc", "..\\a.warc", "C:\\a.warc", "a\0.warc"];
    let climbing: Vec<_> = names.iter().map(|name| stored(name, b"x".to_vec())).collect();
    let package = open(zip(&climbing, false).bytes);
    assert_eq!(package.zip().members().len(), 0);
    assert_eq!(rules(&package), [ZipRule::UnsafeName; 6]);
}

#[test]
fn one_stretch_of_data_does_not_count_twice() {
    let mut file = zip(&[deflated("a", vec![0; 100_000]), deflated("b", b"b".to_vec())], false);
    // The entry of `b` claims the data of `a`.
    let second = file.directory + 46 + 1;
    let entry: Vec<u8> = file.bytes[file.directory..file.directory + 46].to_vec();
    file.bytes[second..second + 46].copy_from_slice(&entry);
    let package = open(file.bytes);
    assert_eq!(rules(&package), [ZipRule::Overlap]);
    assert_eq!(package.zip().members().len(), 1);
}

#[test]
fn a_member_never_gives_more_than_it_declares() {
    let mut file = zip(&[deflated("bomb", vec![0; 1 << 20])], false);
    file.bytes[file.directory + 24..file.directory + 28].copy_from_slice(&100_u32.to_le_bytes());
    let error = content(&open(file.bytes), "bomb").unwrap_err();
    assert!(error.contains("more than the 100 bytes"), "{error}");
}

#[test]
fn a_flipped_bit_is_reported_at_the_end_of_the_member() {
    let mut file = zip(&[stored("archive/a.warc", b"records".to_vec())], false);
    file.bytes[file.directory - 1] ^= 1;
    let error = content(&open(file.bytes), "archive/a.warc").unwrap_err();
    assert!(error.contains("checksum"), "{error}");
}

#[test]
fn a_broken_download_is_read_from_its_local_headers() {
    for sizes_follow in [false, true] {
        let mut members = members();
        members.iter_mut().for_each(|member| member.sizes_follow = sizes_follow);
        let file = zip(&members, false);
        let cut = usize::try_from(file.headers[4]).unwrap() + 40;
        let package = open(file.bytes[..cut].to_vec());
        assert!(rules(&package).contains(&ZipRule::NoDirectory));
        assert_eq!(package.description().unwrap().title.as_deref(), Some("A crawl"));
        let bytes = content(&package, "archive/a.warc.gz").unwrap();
        assert!(bytes.starts_with(b"records"));
        assert_eq!(content(&package, "archive/b.warc").unwrap(), b"more records ".repeat(100));
    }
}

#[test]
fn a_directory_that_ends_early_gives_what_it_has() {
    let mut file = zip(&members(), false);
    let last = file.bytes.windows(4).rposition(|four| four == [0x50, 0x4b, 1, 2]).unwrap();
    file.bytes[last] = 0;
    let package = open(file.bytes);
    assert_eq!(rules(&package), [ZipRule::DirectoryEntry]);
    assert_eq!(package.zip().members().len(), 4);
    assert_eq!(package.findings()[0].offset, last as u64);
}

#[test]
fn encrypted_members_and_other_methods_are_refused_by_name() {
    let mut file = zip(&[stored("archive/a.warc", b"x".to_vec())], false);
    file.bytes[file.directory + 10] = 93;
    let error = content(&open(file.bytes.clone()), "archive/a.warc").unwrap_err();
    assert!(error.contains("`archive/a.warc` at byte 0: compression method 93"), "{error}");
    file.bytes[file.directory + 8] = 1;
    assert!(content(&open(file.bytes), "archive/a.warc").unwrap_err().contains("encrypted"));
}

#[test]
fn other_files_are_not_packages() {
    for bytes in [&b""[..], b"PK", b"WARC/1.1\r\n", &[0; 70_000]] {
        assert!(matches!(Wacz::open(Arc::new(bytes.to_vec())), Err(WaczError::NotZip)));
    }
    let package = Wacz::open(Arc::new(zip(&[stored("datapackage.json", b"[]".to_vec())], false).bytes));
    assert!(matches!(package, Err(WaczError::Json { offset: 0, .. })));
}

#[test]
fn packages_of_other_programs() {
    let Some(root) = fixtures("warc") else { return };
    for (path, records) in [
        ("webrecorder+pywb/sample_archive/waczs/valid_example_1.wacz", 1),
        ("webrecorder+py-wacz/tests/fixtures/valid_signed_example_1.wacz", 1),
        ("webrecorder+replayweb.page/mkdocs/site/docs/examples/example.wacz", 1),
        ("harvard-lil+scoop/assets/fixtures/example.com.wacz", 1),
        ("harvard-lil+scoop/.github/assets/example.wacz", 1),
    ] {
        let package = open(std::fs::read(root.join(path)).unwrap());
        assert!(!package.findings().iter().any(|finding| finding.rule.is_loss()), "{path}");
        assert!(package.members(MemberRole::Records).count() >= records, "{path}");
        let pages = package.members(MemberRole::Pages).next().expect("a list of pages");
        let items: Vec<_> = package.pages(pages).unwrap().map(Result::unwrap).collect();
        assert!(items.iter().any(|item| matches!(item, PageListItem::Page(_))), "{path}");
        for member in package.zip().members().iter().filter(|member| !member.is_folder()) {
            content(&package, &member.name).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    }
}

#[test]
fn changed_files_are_found_by_the_digests_of_the_package() {
    let hash = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let json = |hash: &str| {
        format!(
            r#"{{"resources":[{{"path":"archive/a.warc","hash":"{hash}","bytes":4}},{{"path":"archive/b.warc"}}]}}"#
        )
    };
    let found = |bytes: Vec<u8>| {
        let mut rules = Vec::new();
        let signature =
            varve_wacz::verify_package(&open(bytes), &|_| {}, &mut |finding| rules.push(finding.rule));
        assert_eq!(signature, None);
        rules
    };
    let package = |json: String| {
        zip(&[stored("archive/a.warc", b"test".to_vec()), stored("datapackage.json", json)], false).bytes
    };
    assert_eq!(found(package(json(hash))), [ZipRule::ResourceMissing]);
    let other = hash.replace("9f", "00");
    assert_eq!(found(package(json(&other))), [ZipRule::ResourceDigest, ZipRule::ResourceMissing]);
    assert_eq!(found(zip(&[stored("a", b"".to_vec())], false).bytes), [ZipRule::DataPackage]);
}

#[test]
fn signatures_of_other_programs() {
    let Some(root) = fixtures("warc") else { return };
    let verify = |path: &str| {
        let package = open(std::fs::read(root.join(path)).unwrap());
        let mut rules = Vec::new();
        let signature =
            varve_wacz::verify_package(&package, &|_| {}, &mut |finding| rules.push(finding.rule));
        (signature.map(|signature| signature.signer), rules)
    };
    let browser = "webrecorder+replayweb.page/mkdocs/site/docs/examples/example.wacz";
    let (signer, rules) = verify(browser);
    assert!(matches!(signer, Some(PackageSigner::Key(_))), "{rules:?}");
    assert_eq!(rules, []);
    let domain = PackageSigner::Domain("btrix-sign-test.webrecorder.net".to_owned());
    let fixtures = "webrecorder+py-wacz/tests/fixtures";
    assert_eq!(verify(&format!("{fixtures}/valid_signed_example_1.wacz")), (Some(domain), Vec::new()));
    // Its certificate is of the staging authority, which nobody trusts.
    let invalid = verify(&format!("{fixtures}/invalid_signed_example_1.wacz"));
    assert_eq!(invalid, (None, vec![ZipRule::PackageSignature]));
}
