//! Projects for these tests: one that is made here, and the real ones.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use varve_core::secret::Secret;
use varve_crystal::{
    BodyLookup, CreateOptions, DownloadError, DownloadOutcome, GroupSource, MajorVersion, NewGroup,
    NewRevision, Project, ProjectWriter, ResourceId, ResponseMetadata,
};

pub(crate) const COOKIE: &str = "session=open-sesame";
pub(crate) const HOME: &str = "https://site.example/";

/// `hello` as gzip has it.
pub(crate) const GZIPPED: &[u8] = &[
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0,
    0,
];

fn metadata(status: i64, second: u32, headers: &[(&str, &str)]) -> ResponseMetadata {
    let date = format!("Fri, 29 Jul 2022 12:00:{second:02} GMT");
    let dated = ("Date", date.as_str());
    let headers = headers.iter().chain([&dated]);
    let headers = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ResponseMetadata { http_version: 11, status_code: status, reason_phrase: "Ok".to_owned(), headers }
}

fn add(
    writer: &mut ProjectWriter,
    resource: ResourceId,
    cookie: Option<&str>,
    said: ResponseMetadata,
    bytes: &[u8],
) {
    let mut body = writer.begin_body().unwrap();
    body.write_all(bytes).unwrap();
    let request_cookie = cookie.map(|cookie| Secret::new(cookie.to_owned()));
    let outcome = DownloadOutcome::Fetched { metadata: Some(said), body };
    writer.add_revision(NewRevision { id: None, resource, request_cookie, outcome }).unwrap();
}

/// A project with everything that a row can say. Its revisions: 1 a page, 2 the same page changed,
/// 3 a gzipped script, 4 a page with a chunked header, 5 a failed download of the page, 6 an image
/// with an ETag, 7 its 304 response.
pub(crate) fn make(path: &Path, version: MajorVersion) -> PathBuf {
    let mut writer = ProjectWriter::create(path, CreateOptions { version, watcher: None }).unwrap();
    let root = writer.add_root("Home", HOME).unwrap();
    let (home, site) = (root.resource, Some(GroupSource::Root(root.id)));
    let group =
        NewGroup { name: "All", url_pattern: "https://site.example/**", source: site, do_not_download: true };
    writer.add_group(group).unwrap();
    writer.add_alias("https://www.site.example/", HOME, false).unwrap();
    writer.add_alias("https://live.example/", "https://live.example/", true).unwrap();
    writer.set_property("default_url_prefix", Some("https://site.example")).unwrap();
    writer.set_property("varve.note", Some("")).unwrap();
    let script = writer.add_resource("https://site.example/app.js").unwrap().id;
    let chunked = writer.add_resource("https://site.example/chunked").unwrap().id;
    let image = writer.add_resource("https://site.example/logo.png").unwrap().id;
    writer.add_resource("https://site.example/never").unwrap();
    let html = ("Content-Type", "text/html");
    add(&mut writer, home, None, metadata(200, 1, &[html, ("X-Fold", "a\r\n  b")]), b"<p>one</p>");
    add(&mut writer, home, Some(COOKIE), metadata(200, 2, &[html, ("Set-Cookie", "a=1")]), b"<p>two</p>");
    add(&mut writer, script, None, metadata(200, 3, &[("Content-Encoding", "gzip")]), GZIPPED);
    let said = [("Transfer-Encoding", "chunked"), ("Content-Length", "99")];
    add(&mut writer, chunked, None, metadata(200, 4, &said), b"5\r\nnot a chunk");
    let failed = DownloadOutcome::Failed(DownloadError::timed_out());
    writer
        .add_revision(NewRevision { id: None, resource: home, request_cookie: None, outcome: failed })
        .unwrap();
    add(&mut writer, image, None, metadata(200, 6, &[("ETag", "\"x\"")]), b"png");
    add(&mut writer, image, None, metadata(304, 7, &[("ETag", "\"x\"")]), b"");
    let path = writer.path().to_owned();
    writer.close().unwrap();
    path
}

/// Every row of a project, with secrets exposed, and every body; the version of the layout apart.
pub(crate) fn everything(path: &Path) -> Vec<String> {
    let project = Project::open(path).unwrap();
    let mut rows = Vec::new();
    rows.extend(project.properties().map(|row| format!("{:?}", row.unwrap())));
    rows.retain(|row| !row.contains("major_version"));
    rows.extend(project.resources().map(|row| format!("{:?}", row.unwrap())));
    rows.extend(project.roots().map(|row| format!("{:?}", row.unwrap())));
    rows.extend(project.groups().map(|row| format!("{:?}", row.unwrap())));
    rows.extend(project.aliases().map(|row| format!("{:?}", row.unwrap())));
    for revision in project.revisions() {
        let revision = revision.unwrap();
        let cookie = revision.request_cookie.as_ref().map(Secret::expose);
        let body = match project.body_of(&revision).unwrap() {
            BodyLookup::Found(mut body) => {
                let mut bytes = Vec::new();
                body.read_to_end(&mut bytes).unwrap();
                Some(bytes)
            }
            BodyLookup::NeverHad => None,
            BodyLookup::Missing { .. } => panic!("the body of revision {} is missing", revision.id),
        };
        rows.push(format!("{revision:?} {cookie:?} {body:?}"));
    }
    rows
}

/// A real project, unpacked below a folder. Without the corpora the test is skipped.
pub(crate) fn fixture(name: &str, folder: &Path) -> Option<PathBuf> {
    let packed = varve_testkit::fixtures(&format!("crystal/lab/{name}.crystalproj.zip"))?;
    let bytes = std::fs::read(packed).unwrap();
    let folder = folder.join(name);
    zip::ZipArchive::new(Cursor::new(bytes)).unwrap().extract(&folder).unwrap();
    Some(folder.join("lab.crystalproj"))
}
