//! Garbage collection: which versions, bodies and diffs are removed, and which stay.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::scene::*;
use varve_archive::history::{HistoryWriter, VersionPages};
use varve_archive::verbs::audit_site::audit_site;
use varve_archive::verbs::gc::{
    GcAction, GcActions, RetentionPolicy, TooSoon, perform, plan, plan_to_show, too_soon, totals,
};
use varve_archive::verbs::{diff, tag};
use varve_archive::{ArchiveError, Moment, VersionId};
use varve_catalog::CatalogRow;
use varve_core::history::{ListCursor, VersionFilter};
use varve_testkit::fixtures;

fn clear(writer: &HistoryWriter, policy: &RetentionPolicy) -> GcActions {
    let actions = plan(writer, policy).expect("planned");
    perform(writer, &actions, &|_| {}).expect("performed");
    actions
}

/// Every loose body, by name.
fn bodies(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for folder in fs::read_dir(root.join(".moku/blobs")).expect("blobs") {
        for file in fs::read_dir(folder.expect("read").path()).expect("a folder") {
            names.push(file.expect("read").file_name().into_string().expect("text"));
        }
    }
    names.sort();
    names
}

/// gc returns the space of deleted rows to the disk, in a database that varve created and in one
/// that Moku created, also while another process reads.
#[test]
fn gc_returns_the_free_space_of_the_database() {
    for (is_mokus, is_read) in [(false, false), (true, false), (true, true)] {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        make(Kind::Moku, root);
        let database = root.join(".moku/moku.db");
        let connect = || rusqlite::Connection::open(&database).expect("opened");
        let number = |pragma: &str| -> i64 {
            connect().pragma_query_value(None, pragma, |row| row.get(0)).expect("a number")
        };
        drop(history(root));
        if is_mokus {
            connect().execute_batch("PRAGMA auto_vacuum = NONE; VACUUM").expect("as Moku makes it");
            assert_eq!(number("auto_vacuum"), 0);
        }
        let writer = history(root);
        let mut kept = Vec::new();
        for number in 0..30_u64 {
            let text: String =
                (0..4_000).map(|at| format!("{:x} ", number * 1_000_003 + at * 7_919)).collect();
            kept.push(commit_pages(&writer, "x", &[("https://e.org/", &text)]).version);
        }
        let before = number("page_count");
        let reader = connect();
        if is_read {
            reader.execute_batch("BEGIN; SELECT count(*) FROM versions").expect("reading");
        }
        let policy = RetentionPolicy { keep_last: Some(2), ..RetentionPolicy::default() };
        let done = perform(&writer, &plan(&writer, &policy).expect("planned"), &|_| {}).expect("performed");
        assert!(done.kept_room.is_none(), "{:?}", done.kept_room);
        if is_read {
            let seen: u64 =
                reader.query_row("SELECT count(*) FROM versions", [], |row| row.get(0)).expect("read");
            assert_eq!(seen, 30, "who reads sees what was there");
        }
        drop(reader);
        drop(writer);
        assert!(number("page_count") * 4 < before, "{} of {before}", number("page_count"));
        assert_eq!((number("freelist_count"), number("auto_vacuum")), (0, 2));
        let length = fs::metadata(&database).expect("there").len() as i64;
        assert_eq!(length, number("page_count") * number("page_size"));
        let mut found = Vec::new();
        audit_site(root, false, &|_| {}, &mut |finding| found.push(finding)).expect("audited");
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(history(root).head().expect("read"), kept.last().copied());
    }
}

#[test]
fn old_versions_are_removed_with_their_bodies_and_the_rest_stays_connected() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Moku, root.path());
    let writer = history(root.path());
    let made: Vec<_> = (0..6)
        .map(|number| {
            let pages = [("https://e.org/", "always"), ("https://e.org/n", &*number.to_string())];
            commit_pages(&writer, &number.to_string(), &pages).version
        })
        .collect();
    tag::set(&writer, "first", Some(made[0])).expect("set");
    let policy = RetentionPolicy { keep_last: Some(2), ..RetentionPolicy::default() };
    let planned = plan(&writer, &policy).expect("planned");
    assert_eq!(bodies(root.path()).len(), 7, "a plan changes nothing");
    assert_eq!(clear(&writer, &policy), planned);
    let gone: Vec<_> = planned
        .list
        .iter()
        .filter_map(|action| match action {
            GcAction::ForgetVersion { info, diffs } => Some((info.version.id, *diffs)),
            _ => None,
        })
        .collect();
    // The last one goes with the diff of the version behind it, too.
    assert_eq!(gone, [(made[3], 2), (made[2], 1), (made[1], 1)]);
    let counts = totals(&planned.list);
    assert_eq!((counts.bodies, counts.bytes, counts.diffs), (3, 3, 4));
    assert_eq!(diffs_of(root.path()), [(Some(made[0]), made[4]), (Some(made[4]), made[5])]);
    let kept = writer.catalog().diff(Some(&made[0]), &made[4]).expect("read").expect("kept").json;
    diff::keep(&writer, Some(made[0]), made[4]).expect("kept");
    let again = writer.catalog().diff(Some(&made[0]), &made[4]).expect("read").expect("kept").json;
    assert_eq!(kept, again);
    assert!(kept.contains(r#""content":"4""#), "{kept}");
    assert_eq!(bodies(root.path()).len(), 4);
    let parent = writer.catalog().version(&made[4]).expect("read").expect("kept").version.parent;
    assert_eq!(parent, Some(made[0]), "what descended from a version that went descends from its parent");
    for version in [made[0], made[4], made[5]] {
        assert_eq!(contents(writer.as_reader(), version).len(), 2);
    }
    assert_eq!(writer.head().expect("read"), Some(made[5]));
    assert!(clear(&writer, &policy).list.is_empty(), "nothing is left to do");
}

/// The time of a gc is stored after its last action. A plan, and a gc that fails, store none.
#[test]
fn the_time_of_a_gc_is_stored_when_the_gc_ends() {
    const HOUR: Duration = Duration::from_secs(3600);
    let later = |time: Moment, seconds: i64| Moment::from_seconds(time.seconds() + seconds);
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let version = commit_pages(&writer, "x", &[("https://e.org/", "x")]).version;
        let last = || writer.catalog().last_gc().expect("read");
        let nothing = plan(&writer, &RetentionPolicy::default()).expect("planned");
        assert_eq!((last(), nothing.list.len()), (None, 0), "a plan is none");
        let nowhere = VersionId::new(uuid::Uuid::from_u128(1));
        let action = GcAction::MakeDiff { base: version, head: nowhere };
        let stopped = GcActions { list: vec![action], ..GcActions::default() };
        perform(&writer, &stopped, &|_| {}).expect_err("there is no such version");
        assert_eq!(last(), None, "{kind:?}: what was not done to its end was not done");
        perform(&writer, &nothing, &|_| {}).expect("performed");
        let done = last().expect("written down");
        let ask = |now| too_soon(writer.as_reader(), now, HOUR).expect("read");
        let lately = Some(TooSoon { done, again: later(done, 3600) });
        assert_eq!((ask(done), ask(later(done, 3599))), (lately, lately));
        assert_eq!(ask(later(done, 3600)), None);
        assert_eq!(ask(later(done, -1)), None, "a time that is still to come says nothing");
        assert_eq!(too_soon(writer.as_reader(), done, Duration::ZERO).expect("read"), None);
        assert!(too_soon(writer.as_reader(), done, Duration::MAX).expect("read").is_some());
        writer.apply(vec![CatalogRow::GcDone(later(done, 9_999_999))]).expect("applied");
        perform(&writer, &nothing, &|_| {}).expect("performed");
        assert!((later(done, 1)..later(done, 9_999)).contains(&last().expect("written down")), "{kind:?}");
    }
}

#[test]
fn gc_runs_if_its_last_time_cannot_be_read() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        clear(&writer, &RetentionPolicy::default());
        let (file, table) = match kind {
            Kind::Archive => ("catalog.db", "meta"),
            Kind::Moku => (".moku/moku.db", "varve_state"),
        };
        let database = rusqlite::Connection::open(root.path().join(file)).expect("opened");
        let sql = format!("UPDATE {table} SET value = 'yesterday' WHERE key = 'last_gc'");
        assert_eq!(database.execute(&sql, []).expect("changed"), 1, "{kind:?}");
        drop(database);
        assert_eq!(writer.catalog().last_gc().expect("read"), None, "{kind:?}");
        clear(&writer, &RetentionPolicy::default());
        assert!(writer.catalog().last_gc().expect("read").is_some(), "{kind:?}");
    }
}

/// The diffs that a site keeps, as its table has them.
fn diffs_of(root: &Path) -> Vec<(Option<VersionId>, VersionId)> {
    let reader = reader(root);
    let filter = VersionFilter::default();
    let versions = reader.catalog().versions(&filter, ListCursor::first(100)).expect("read");
    let mut found: Vec<_> = versions
        .iter()
        .flat_map(|info| reader.catalog().diffs_with(&info.version.id).expect("read"))
        .map(|diff| (diff.base, diff.head))
        .collect();
    let place = |id: &VersionId| versions.iter().rev().position(|info| info.version.id == *id);
    found.sort_by_key(|(_, head)| place(head));
    found.dedup();
    found
}

#[test]
fn a_diff_that_was_pruned_is_not_made_again_and_none_is_counted_twice() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Moku, root.path());
    let writer = history(root.path());
    let made: Vec<_> = (0..4)
        .map(|number| commit_pages(&writer, "v", &[("https://e.org/", &*number.to_string())]).version)
        .collect();
    tag::set(&writer, "first", Some(made[0])).expect("set");
    // Every diff is older than that, and goes with a version or by itself, once.
    let policy = RetentionPolicy {
        keep_last: Some(1),
        keep_within: Some(Duration::ZERO),
        ..RetentionPolicy::default()
    };
    let planned = clear(&writer, &policy);
    let totals = totals(&planned.list);
    assert_eq!((totals.versions, totals.diffs), (2, 3), "{planned:?}");
    assert_eq!(totals.made, 0, "{planned:?}");
    assert_eq!(diffs_of(root.path()), []);
}

#[test]
fn diffs_and_versions_expire_by_their_own_age() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let versions: Vec<VersionId> =
        ["1", "2", "3"].map(|text| commit_pages(&writer, text, &[("https://e.org/", text)]).version).to_vec();
    let year = Duration::from_secs(366 * 86_400);
    // Versions stay, and all diffs go.
    let policy = RetentionPolicy { keep_diffs_within: Some(Duration::ZERO), ..RetentionPolicy::default() };
    let done = clear(&writer, &policy);
    assert!(matches!(done.list.as_slice(), [GcAction::PruneDiffs { count: 2, .. }]), "{done:?}");
    assert_eq!((done.kept, diffs_of(root).len()), (3, 0));
    // Versions go, and a young diff of those that stay is kept.
    commit_pages(&writer, "4", &[("https://e.org/", "4")]);
    let policy = RetentionPolicy {
        keep_last: Some(2),
        keep_within: Some(Duration::ZERO),
        keep_diffs_within: Some(year),
        ..RetentionPolicy::default()
    };
    clear(&writer, &policy);
    assert_eq!(diffs_of(root).len(), 1);
    assert!(writer.catalog().version(&versions[0]).expect("read").is_none());
}

#[test]
fn gc_works_though_a_body_is_damaged_or_missing() {
    for is_missing in [false, true] {
        let root = tempfile::tempdir().expect("a folder");
        make(Kind::Moku, root.path());
        let writer = history(root.path());
        let made: Vec<_> = (0..3)
            .map(|number| {
                commit_pages(&writer, "v", &[("https://e.org/", &*format!("text {number}"))]).version
            })
            .collect();
        tag::set(&writer, "first", Some(made[0])).expect("set");
        spoil(&writer, root.path(), made[0], is_missing);
        let policy = RetentionPolicy { keep_last: Some(1), ..RetentionPolicy::default() };
        let planned = plan(&writer, &policy).expect("planned");
        assert_eq!(totals(&planned.list).made, 1);
        assert_eq!(
            perform(&writer, &planned, &|_| {}).expect("performed").unmade,
            1,
            "one diff cannot be made"
        );
        assert_eq!(diffs_of(root.path()), []);
        assert_eq!(bodies(root.path()).len(), if is_missing { 1 } else { 2 });
    }
}

/// Damages the body of the first page of a version, or removes it.
fn spoil(writer: &HistoryWriter, root: &Path, version: VersionId, is_missing: bool) {
    let page = VersionPages::new(writer.catalog(), Some(version)).next().expect("a page").expect("read");
    let name = page.body.to_string();
    let path = root.join(".moku/blobs").join(&name[..2]).join(&name);
    match is_missing {
        true => fs::remove_file(path).expect("removed"),
        false => fs::write(path, "otherwise").expect("written"),
    }
}

#[test]
fn commit_works_though_a_body_of_the_parent_is_damaged_or_missing() {
    for is_missing in [false, true] {
        let root = tempfile::tempdir().expect("a folder");
        make(Kind::Moku, root.path());
        let writer = history(root.path());
        let first = commit_pages(&writer, "1", &[("https://e.org/", "text")]);
        assert!(!first.lacks_diff, "the first version has none");
        spoil(&writer, root.path(), first.version, is_missing);
        let second = commit_pages(&writer, "2", &[("https://e.org/other", "other text")]);
        assert!(second.lacks_diff);
        let third = commit_pages(&writer, "3", &[("https://e.org/other", "again")]);
        assert!(!third.lacks_diff);
        assert_eq!(diffs_of(root.path()), [(Some(second.version), third.version)]);
        assert_eq!(writer.head().expect("read"), Some(third.version));
    }
}

#[test]
fn bodies_of_lost_versions_stay_until_the_loss_is_accepted() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let made: Vec<_> = (0..3)
        .map(|number| commit_pages(&writer, "v", &[("https://e.org/", &*number.to_string())]).version)
        .collect();
    drop(writer);
    let database = rusqlite::Connection::open(root.join(".moku/moku.db")).expect("opened");
    database.pragma_update(None, "foreign_keys", false).expect("set");
    for sql in ["DELETE FROM snapshots WHERE version_id = ?", "DELETE FROM versions WHERE id = ?"] {
        assert_eq!(database.execute(sql, [made[1].to_string()]).expect("deleted"), 1);
    }
    drop(database);
    let writer = history(root);
    for policy in
        [RetentionPolicy::default(), RetentionPolicy { keep_last: Some(1), ..RetentionPolicy::default() }]
    {
        let refused = plan(&writer, &policy);
        let Err(ArchiveError::LostRows { named, child }) = refused else { panic!("{refused:?}") };
        assert_eq!((named, child), (made[1], Some(made[2])));
    }
    let accepting = RetentionPolicy { accept_lost: true, ..RetentionPolicy::default() };
    let actions = clear(&writer, &accepting);
    assert_eq!(actions.list[0], GcAction::AcceptLost { version: made[1], child: Some(made[2]) });
    assert_eq!(bodies(root).len(), 2);
    // From then on nothing is missing, and the version behind it is still the one that was
    // committed.
    assert!(clear(&writer, &RetentionPolicy::default()).list.is_empty());
    let parent = writer.catalog().version(&made[2]).expect("read").expect("kept").version.parent;
    assert_eq!(parent, None);
    drop(writer);
    let mut found = Vec::new();
    audit_site(root, false, &|_| {}, &mut |finding| found.push(finding)).expect("audited");
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_dry_run_lists_the_same_actions_and_writes_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    for number in 0..3 {
        commit_pages(&writer, "v", &[("https://e.org/", &*number.to_string())]);
    }
    drop(writer);
    // HEAD is lost: the next writer restores it.
    fs::remove_file(root.join(".moku/HEAD")).expect("removed");
    let policy = RetentionPolicy { keep_last: Some(0), ..RetentionPolicy::default() };
    let seconds = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_secs();
    let now = varve_archive::Moment::from_seconds(seconds.cast_signed());
    let shown = plan_to_show(&reader(root), now, &policy).expect("planned");
    assert!(!root.join(".moku/HEAD").exists());
    assert_eq!((shown.kept, totals(&shown.list).versions), (1, 2));
    assert_eq!(plan(&history(root), &policy).expect("planned"), shown);
}

#[test]
fn head_stays_even_when_it_is_old() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Moku, root.path());
    let writer = history(root.path());
    let made: Vec<_> = (0..3)
        .map(|number| commit_pages(&writer, "v", &[("https://e.org/", &*number.to_string())]).version)
        .collect();
    varve_archive::verbs::checkout::checkout(&writer, made[0], &mut |_| {}).expect("moved");
    let actions = clear(&writer, &RetentionPolicy { keep_last: Some(1), ..RetentionPolicy::default() });
    assert_eq!(actions.kept, 2);
    assert_eq!(contents(writer.as_reader(), made[0]), [("https://e.org/".into(), "0".into())]);
}

#[test]
fn without_a_rule_no_version_goes() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Moku, root.path());
    let writer = history(root.path());
    commit_pages(&writer, "1", &[("https://e.org/", "1")]);
    commit_pages(&writer, "2", &[("https://e.org/", "2")]);
    assert!(clear(&writer, &RetentionPolicy::default()).list.is_empty());
    let policy =
        RetentionPolicy { keep_within: Some(Duration::from_secs(9_000_000)), ..RetentionPolicy::default() };
    assert!(clear(&writer, &policy).list.is_empty());
    let unknown =
        plan(&writer, &RetentionPolicy { keep_tags: vec!["none".into()], ..RetentionPolicy::default() });
    assert!(matches!(unknown, Err(ArchiveError::NoTag(_))));
}

#[test]
fn bodies_written_after_the_site_was_opened_stay() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Moku, root.path());
    let writer = history(root.path());
    commit_pages(&writer, "1", &[("https://e.org/", "1")]);
    std::thread::sleep(Duration::from_millis(20));
    let name = "ab".repeat(32);
    fs::create_dir_all(root.path().join(".moku/blobs/ab")).expect("made");
    fs::write(root.path().join(".moku/blobs/ab").join(&name), "on its way").expect("written");
    assert_eq!(clear(&writer, &RetentionPolicy::default()).young, 1);
    drop(writer);
    std::thread::sleep(Duration::from_millis(20));
    let writer = history(root.path());
    let actions = clear(&writer, &RetentionPolicy::default());
    assert_eq!((actions.young, actions.list.len()), (0, 1));
    assert!(!bodies(root.path()).contains(&name));
}

#[test]
fn gc_of_an_archive_removes_no_record() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    let first = commit_pages(&writer, "1", &[("https://e.org/", "1")]).version;
    let second = commit_pages(&writer, "2", &[("https://e.org/", "2")]).version;
    diff::keep(&writer, Some(first), second).expect("kept");
    let before = rows(writer.as_reader());
    for policy in
        [RetentionPolicy::default(), RetentionPolicy { keep_last: Some(1), ..RetentionPolicy::default() }]
    {
        let actions = clear(&writer, &policy);
        assert!(actions.in_silos && actions.list.is_empty(), "as in a site, a diff stays: {actions:?}");
    }
    let actions =
        clear(&writer, &RetentionPolicy { keep_within: Some(Duration::ZERO), ..RetentionPolicy::default() });
    assert!(matches!(actions.list.as_slice(), [GcAction::PruneDiffs { count: 1, .. }]), "{actions:?}");
    assert_eq!(rows(writer.as_reader()), before);
    assert!(writer.catalog().diff(Some(&first), &second).expect("read").is_none());
}

#[test]
fn gc_of_a_moku_site_removes_only_the_orphan() {
    let Some(packed) = fixtures("moku/b-pending-batch-scored.tar.gz") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let unpacked =
        Command::new("tar").arg("xzf").arg(packed).arg("-C").arg(root.path()).status().expect("tar");
    assert!(unpacked.success());
    let site = &site_below(root.path());
    let before = bodies(site);
    let writer = history(site);
    let actions = clear(&writer, &RetentionPolicy::default());
    let removed: Vec<_> = actions
        .list
        .iter()
        .map(|action| match action {
            GcAction::RemoveBody(file) => file.length,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(removed, ["orphan blob body".len() as u64]);
    assert_eq!(bodies(site).len(), before.len() - 1);
}

/// The folder that holds `.moku`.
fn site_below(root: &Path) -> PathBuf {
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        if folder.join(".moku").is_dir() {
            return folder;
        }
        let below = fs::read_dir(&folder).expect("read").map(|entry| entry.expect("read").path());
        waiting.extend(below.filter(|path| path.is_dir()));
    }
    panic!("there is no site");
}
