//! A made-up history: every crawl captures every URL, and a commit lists those that changed; one page in eight has changed since the last time.

use uuid::Uuid;
use varve_catalog::CatalogRow;
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Capture, CaptureOwner, Version};
use varve_core::{BodyId, Moment, RecordId, RunId, VersionId};

/// What a history holds.
pub struct History {
    pub urls: u32,
    pub versions: u32,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// From the web: each answer has its own record, its clock and its tag.
    Crawl,
    /// By hand: a record is a body, and there are hardly any headers.
    Commit,
}

impl History {
    pub fn version_id(&self, version: u32) -> VersionId {
        VersionId::new(Uuid::from_u128(mixed(u64::from(version)).into()))
    }

    pub fn url(&self, number: u32) -> String {
        format!("https://www.example.org/{}/section-{}/page-{number}.html", number % 13, number % 97)
    }

    pub fn path(&self, number: u32) -> String {
        format!("/{}/section-{}/page-{number}.html", number % 13, number % 97)
    }

    pub fn time(&self, version: u32) -> Moment {
        Moment::from_seconds(1_700_000_000 + i64::from(version) * 86_400)
    }

    /// The rows of one version.
    pub fn rows(&self, version: u32) -> impl Iterator<Item = CatalogRow> {
        let id = self.version_id(version);
        let row = CatalogRow::Version(Version {
            id,
            parent: version.checked_sub(1).map(|parent| self.version_id(parent)),
            message: format!("Day {version}"),
            author: None,
            time: self.time(version),
            run: None,
            record: None,
            coverage: None,
        });
        // A commit lists the pages that changed.
        let is_listed = move |number: &u32| {
            let changes = |version: u32| (version + number % 8) / 8;
            self.kind == Kind::Crawl || version == 0 || changes(version) != changes(version - 1)
        };
        let captures = (0..self.urls).filter(is_listed).map(move |number| self.capture(id, version, number));
        std::iter::once(row).chain(captures.map(|capture| CatalogRow::Capture(Box::new(capture))))
    }

    fn capture(&self, id: VersionId, version: u32, number: u32) -> Capture {
        let owner = CaptureOwner::Version(id);
        let url = self.url(number);
        let micros = self.time(version).micros() + i64::from(number) * 31_337;
        let changes = (version + number % 8) / 8;
        let body = digest(u64::from(number) << 32 | u64::from(changes));
        let (record, time, headers) = match self.kind {
            Kind::Crawl => (
                RecordId::new(digest(u64::from(number) << 32 | u64::from(version) | 1 << 63)),
                Moment::from_micros(micros),
                crawled(micros, number, changes),
            ),
            Kind::Commit => (RecordId::new(body), self.time(version), committed()),
        };
        Capture {
            id: Capture::derive_id(owner, &url, time, &record),
            owner,
            path: self.path(number),
            url,
            time,
            status: 200,
            headers,
            body: BodyId::new(body),
            length: Some(10_000 + u64::from(number)),
            record: Some(record),
            truncated: false,
        }
    }
}

fn crawled(micros: i64, number: u32, changes: u32) -> HeaderView {
    let kind = ["text/html; charset=utf-8", "text/css", "image/png"][number as usize % 3];
    let date = Moment::from_micros(micros).for_people();
    let etag = format!("\"{number:x}-{changes:x}\"");
    let pairs = [
        ("content-type", kind),
        ("server", "nginx"),
        ("date", &date),
        ("etag", &etag),
        ("strict-transport-security", "max-age=31536000"),
        ("x-content-type-options", "nosniff"),
    ];
    HeaderView::from_pairs(pairs, Redaction::On)
}

fn committed() -> HeaderView {
    HeaderView::from_pairs([("content-type", "text/html")], Redaction::On)
}

const RUN: RunId = RunId::new(Uuid::from_u128(77));

/// The captures of a run.
pub fn run(captures: u32) -> impl Iterator<Item = CatalogRow> {
    let history = History { urls: captures, versions: 1, kind: Kind::Crawl };
    (0..captures).map(move |number| {
        let mut capture = history.capture(history.version_id(99), 99, number);
        capture.owner = CaptureOwner::Run(RUN);
        capture.id =
            Capture::derive_id(capture.owner, &capture.url, capture.time, &capture.record.expect("one"));
        CatalogRow::Capture(Box::new(capture))
    })
}

/// The version that the run becomes.
pub fn version_of_run() -> Version {
    Version {
        id: VersionId::new(Uuid::from_u128(78)),
        parent: None,
        message: "the run".to_owned(),
        author: None,
        time: Moment::from_seconds(1_800_000_000),
        run: Some(RUN),
        record: None,
        coverage: None,
    }
}

fn digest(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (place, part) in bytes.chunks_exact_mut(8).enumerate() {
        part.copy_from_slice(&mixed(seed.wrapping_add(place as u64 * 0x1234_5678_9abc)).to_be_bytes());
    }
    bytes
}

/// A number that looks like no other.
fn mixed(seed: u64) -> u64 {
    let mut value = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
