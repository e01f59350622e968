//! The operations that are killed: the state before, the work, and what must hold after a kill at
//! any step.

use std::path::Path;

use varve_archive::history::{ArchiveHistoryWriter, HistoryWriter};
use varve_archive::verbs::gc::RetentionPolicy;
use varve_archive::verbs::{checkout, diff, gc, init, purge, score, tag, train};
use varve_archive::{ArchiveSettings, ArchiveWriter, VersionId};

use crate::check::{self, Death};
use crate::scene::{self, Kind};

pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Makes what the child begins with, in a folder.
    pub(crate) prepare: fn(&Path),
    /// What the child does.
    pub(crate) run: fn(&Path),
    /// Whether all is well after a death.
    pub(crate) check: fn(&Death<'_>),
}

/// What [`collect`] keeps.
pub(crate) const POLICY: RetentionPolicy = RetentionPolicy {
    keep_last: Some(1),
    keep_tags: Vec::new(),
    keep_within: None,
    keep_diffs_within: None,
    accept_lost: false,
};

pub(crate) const OPERATIONS: [Operation; 17] = [
    Operation {
        name: "archive-first",
        prepare: |home| empty(home, "gzip"),
        run: commit,
        check: check::added,
    },
    Operation {
        name: "archive-commit",
        prepare: |home| made(home, "gzip"),
        run: commit,
        check: check::added,
    },
    Operation { name: "archive-zstd", prepare: |home| made(home, "zstd"), run: commit, check: check::added },
    Operation {
        name: "archive-checkout",
        prepare: |home| made(home, "gzip"),
        run: check_out,
        check: check::moved,
    },
    Operation { name: "archive-export", prepare: exported, run: export, check: check::exported },
    Operation {
        name: "archive-gc",
        prepare: |home| made(home, "gzip"),
        run: collect,
        check: check::collected,
    },
    Operation {
        name: "archive-rewrite",
        prepare: |home| made(home, "gzip"),
        run: take_out,
        check: check::taken_out,
    },
    Operation {
        name: "archive-rezstd",
        prepare: |home| made(home, "zstd"),
        run: take_out,
        check: check::taken_out,
    },
    Operation {
        name: "archive-retrain",
        prepare: trained,
        run: take_out,
        check: check::taken_out_of_dictionaries,
    },
    Operation {
        name: "archive-score",
        prepare: |home| made(home, "gzip"),
        run: keep_score,
        check: check::scored,
    },
    Operation {
        name: "archive-seal",
        prepare: |home| made(home, "gzip"),
        run: seal_all,
        check: check::sealed,
    },
    Operation { name: "archive-seal-again", prepare: nearly_full_tile, run: seal_all, check: check::sealed },
    Operation { name: "moku-first", prepare: |home| empty(home, "moku"), run: commit, check: check::added },
    Operation { name: "moku-commit", prepare: |home| made(home, "moku"), run: commit, check: check::added },
    Operation {
        name: "moku-checkout",
        prepare: |home| made(home, "moku"),
        run: check_out,
        check: check::moved,
    },
    Operation { name: "moku-gc", prepare: |home| made(home, "moku"), run: collect, check: check::collected },
    Operation {
        name: "moku-score",
        prepare: |home| made(home, "moku"),
        run: keep_score,
        check: check::scored,
    },
];

/// The page that a rewrite takes out.
pub(crate) const SECRET: &str = "https://e.org/deep/secret";
/// What the child commits.
pub(crate) const NEW: [(&str, &str); 3] =
    [("https://e.org/", "fourth"), ("https://e.org/a", "same"), ("https://e.org/new/page", "new")];

fn empty(home: &Path, packing: &str) {
    if packing == "moku" {
        return scene::make(Kind::Moku, home);
    }
    let mut settings = ArchiveSettings::new("test");
    settings.packing = serde_json::from_value(packing.into()).unwrap();
    init::init(home, &settings, scene::opening()).unwrap();
}

/// Three versions: pages that stay, change, come and go; a tag, a diff and a score.
fn made(home: &Path, packing: &str) {
    empty(home, packing);
    let history = scene::history(home);
    let commit =
        |message: &str, pages: &[(&str, &str)]| scene::commit_pages(&history, message, pages).version;
    let first =
        commit("1", &[("https://e.org/", "first"), ("https://e.org/a", "same"), (SECRET, "my secret")]);
    tag::set(&history, "kept", Some(first)).unwrap();
    let second = commit(
        "2",
        &[("https://e.org/", "second"), ("https://e.org/a", "same"), ("https://e.org/gone", "g")],
    );
    let third =
        commit("3", &[("https://e.org/", "third"), ("https://e.org/a", "same"), (SECRET, "other secret")]);
    diff::keep(&history, Some(second), third).unwrap();
    score::score(&history, third, &|_| {}).unwrap();
}

/// The same with enough pages for a dictionary, which contains the data to purge, and a silo that
/// begins with it.
fn trained(home: &Path) {
    made(home, "zstd");
    let history = scene::history(home);
    let text = |number: usize| (0..60).map(|at| format!("<li>{}</li>", at * number)).collect::<String>();
    let secret = format!("SECRETWORD {}", text(77));
    let mut pages: Vec<(String, String)> =
        (0..40).map(|number| (format!("https://e.org/many/{number}"), text(number))).collect();
    pages.push((SECRET.to_owned(), secret));
    let pages: Vec<_> = pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
    scene::commit_pages(&history, "many", &pages);
    drop(history);
    let history = ArchiveHistoryWriter::open(home, scene::opening()).unwrap();
    train::train(&history, 64 << 10).unwrap();
    drop(history);
    let history = scene::history(home);
    scene::commit_pages(&history, "behind it", &[("https://e.org/", "behind")]);
}

fn commit(home: &Path) {
    let history = scene::history(home);
    let pages: Vec<_> = NEW.iter().map(|(url, body)| scene::page(url, body)).collect();
    let covers = Some(String::new());
    let request = varve_archive::verbs::commit::Request {
        message: "4".into(),
        threads: 1,
        covers,
        ..Default::default()
    };
    varve_archive::verbs::commit::commit(&history, &request, pages, &|_| {}).unwrap();
}

/// The version with that message.
pub(crate) fn version(history: &HistoryWriter, message: &str) -> VersionId {
    let all = history
        .catalog()
        .versions(&Default::default(), varve_archive::verbs::log::ListCursor::first(99))
        .unwrap();
    all.iter().find(|info| info.version.message == message).unwrap().version.id
}

fn check_out(home: &Path) {
    let history = scene::history(home);
    checkout::checkout(&history, version(&history, "2"), &mut |_| {}).unwrap();
}

fn files() -> checkout::FolderLayout {
    checkout::FolderLayout::Files(checkout::FileOptions { relative_links: true, ..Default::default() })
}

/// A folder that holds another version already.
fn exported(home: &Path) {
    made(home, "gzip");
    let history = scene::history(home);
    checkout::export(history.as_reader(), version(&history, "1"), &home.join("out"), files(), &mut |_| {})
        .unwrap();
}

pub(crate) fn export(home: &Path) {
    let history = scene::history(home);
    checkout::export(history.as_reader(), version(&history, "2"), &home.join("out"), files(), &mut |_| {})
        .unwrap();
}

pub(crate) fn collect(home: &Path) {
    let history = scene::history(home);
    let actions = gc::plan(&history, &POLICY).unwrap();
    gc::perform(&history, &actions, &|_| {}).unwrap();
}

pub(crate) fn take_out(home: &Path) {
    let request = purge::Request {
        urls: vec![SECRET.to_owned()],
        who: "Ada".to_owned(),
        why: "asked for".to_owned(),
        ..Default::default()
    };
    let history = ArchiveHistoryWriter::of(ArchiveWriter::open(home, scene::opening()).unwrap()).unwrap();
    drop(history);
    let writer = ArchiveWriter::open(home, scene::opening()).unwrap();
    let choice = purge::plan(&writer, &request).unwrap();
    purge::perform(writer, &request, &choice, &|_| {}).unwrap();
}

/// A sealed log whose next leaf fills a tile, and a version that is not sealed.
fn nearly_full_tile(home: &Path) {
    made(home, "gzip");
    let history = scene::history(home);
    for number in 3..255 {
        scene::commit_pages(&history, &number.to_string(), &[("https://e.org/", &number.to_string())]);
    }
    drop(history);
    seal_all(home);
    let history = scene::history(home);
    for number in 255..258 {
        scene::commit_pages(&history, &number.to_string(), &[("https://e.org/", &number.to_string())]);
    }
}

pub(crate) fn seal_all(home: &Path) {
    let signer = varve_tlog::NoteSigner::from_seed("example.org/test", [1; 32]).unwrap();
    let history = ArchiveHistoryWriter::of(ArchiveWriter::open(home, scene::opening()).unwrap()).unwrap();
    varve_archive::verbs::seal::seal(&history, &[signer]).unwrap();
}

fn keep_score(home: &Path) {
    let history = scene::history(home);
    score::score(&history, version(&history, "2"), &|_| {}).unwrap();
}
