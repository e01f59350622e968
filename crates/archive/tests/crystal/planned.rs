//! The plan of a project is its own tables, edited and read in the words of any plan.

use std::path::{Path, PathBuf};

use varve_archive::verbs::plan::{Alias, Group, Plan, PlanNotice, Root, edit, load};
use varve_archive::{ArchiveError, ArchivePaths, EditError};
use varve_crystal::{GroupSource, NewGroup, Project, ProjectWriter};

fn empty(folder: &Path) -> PathBuf {
    let path = folder.join("lab.crystalproj");
    ProjectWriter::create(&path, Default::default()).unwrap().close().unwrap();
    path
}

fn change<T>(path: &Path, change: impl FnOnce(&mut Plan) -> Result<T, EditError>) -> Result<T, ArchiveError> {
    edit(
        &ArchivePaths::new(path),
        &mut |notice| assert!(matches!(notice, PlanNotice::PutInOrder(_)), "a table has no comments"),
        change,
    )
}

fn root(name: &str, url: &str) -> Root {
    Root { name: name.to_owned(), url: url.to_owned() }
}

fn group(name: &str, pattern: &str, found_on: Option<&str>, do_not_download: bool) -> Group {
    let (name, pattern) = (name.to_owned(), pattern.to_owned());
    Group { name, pattern, found_on: found_on.map(str::to_owned), do_not_download }
}

#[test]
fn edits_change_rows_and_a_removed_source_is_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let path = empty(folder.path());
    change(&path, |plan| plan.add_root(root("Home", "https://E.org"))).unwrap();
    change(&path, |plan| plan.add_group(group("Years", "https://e.org/#/", Some("Home"), false))).unwrap();
    change(&path, |plan| plan.add_group(group("Days", "https://e.org/#/#", Some("Years"), false))).unwrap();
    let ads = "https://ads.example/**";
    change(&path, |plan| plan.add_group(group(ads, ads, None, true))).unwrap();
    let alias = Alias { source: "https://old.org/".into(), target: "https://e.org/".into(), external: false };
    change(&path, |plan| plan.add_alias(alias.clone())).unwrap();

    let project = Project::open(&path).unwrap();
    let home = project.roots().next().unwrap().unwrap();
    assert_eq!(project.resource(home.resource).unwrap().unwrap().url, "https://e.org/");
    assert_eq!(project.default_url_prefix().unwrap().as_deref(), Some("https://e.org"));
    let groups: Vec<_> = project.groups().map(Result::unwrap).collect();
    assert_eq!(groups[0].source, Some(GroupSource::Root(home.id)));
    assert_eq!(groups[1].source, Some(GroupSource::Group(groups[0].id)));
    assert_eq!((groups[2].name.as_str(), groups[2].do_not_download), ("", true));
    drop(project);

    let plan = load(&ArchivePaths::new(&path)).unwrap().plan;
    assert_eq!(plan.roots, [root("Home", "https://e.org/")]);
    assert_eq!(plan.groups[1].found_on.as_deref(), Some("Years"));
    assert_eq!(plan.aliases, [alias]);

    let removed = change(&path, |plan| plan.remove_group("Years", true)).unwrap();
    assert_eq!(removed.cleared, ["Days"]);
    change(&path, |plan| plan.remove_alias("https://old.org/")).unwrap();
    change(&path, |plan| plan.remove_root("Home", true)).unwrap();
    let project = Project::open(&path).unwrap();
    let left: Vec<_> = project.groups().map(Result::unwrap).collect();
    assert_eq!(left.iter().map(|group| group.source).collect::<Vec<_>>(), [None, None]);
    assert_eq!((project.roots().count(), project.aliases().count()), (0, 0));
    assert!(project.resource_at("https://e.org/").unwrap().is_some(), "its resource stays");
}

#[test]
fn a_group_for_the_entire_site_is_found_from_its_root() {
    let folder = tempfile::tempdir().unwrap();
    let path = empty(folder.path());
    change(&path, |plan| plan.add_root(root("Home", "https://e.org/"))).unwrap();
    change(&path, |plan| plan.add_root(root("Page", "https://e.org/page"))).unwrap();
    change(&path, |plan| plan.add_site("Home")).unwrap();
    let refused = change(&path, |plan| plan.add_site("Page"));
    assert!(matches!(refused, Err(ArchiveError::PlanEdit(EditError::NotASite { .. }))), "{refused:?}");
    let project = Project::open(&path).unwrap();
    let groups: Vec<_> = project.groups().map(Result::unwrap).collect();
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].name.as_str(), groups[0].url_pattern.as_str()), ("", "https://e.org/**"));
    assert!(matches!(groups[0].source, Some(GroupSource::Root(_))));
}

#[test]
fn entries_without_names_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let path = empty(folder.path());
    let mut writer = ProjectWriter::open(&path).unwrap();
    for url in ["https://e.org/a", "https://e.org/b", "https://e.org/c"] {
        writer.add_root(if url.ends_with('c') { "" } else { "Same" }, url).unwrap();
    }
    let new =
        NewGroup { name: "Same", url_pattern: "https://e.org/**", source: None, do_not_download: false };
    writer.add_group(new).unwrap();
    writer.close().unwrap();
    let plan = load(&ArchivePaths::new(&path)).unwrap().plan;
    let names: Vec<&str> = plan.names().collect();
    assert_eq!(names, ["Same", "https://e.org/b", "https://e.org/c", "https://e.org/**"]);
    change(&path, |plan| plan.remove_root("https://e.org/b", true)).unwrap();
    let left: Vec<String> =
        load(&ArchivePaths::new(&path)).unwrap().plan.roots.into_iter().map(|root| root.url).collect();
    assert_eq!(left, ["https://e.org/a", "https://e.org/c"]);
}

#[test]
fn a_change_that_makes_no_sense_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = empty(folder.path());
    change(&path, |plan| plan.add_root(root("Home", "https://e.org/"))).unwrap();
    for refused in [
        change(&path, |plan| plan.add_root(root("Other", "nothing"))),
        change(&path, |plan| plan.add_group(group("X", "https://e.org/#", Some("Nobody"), false))),
        change(&path, |plan| plan.add_group(group("X", "", None, false))),
    ] {
        assert!(matches!(refused, Err(ArchiveError::PlanEdit(EditError::Problem(_)))), "{refused:?}");
    }
    let project = Project::open(&path).unwrap();
    assert_eq!((project.roots().count(), project.groups().count()), (1, 0));
}
