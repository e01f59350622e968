//! Test vectors from the functions of the original program, applied to whole projects.

use std::path::PathBuf;
use varve_core::alias::{Alias, Aliases};
use varve_crystal::{
    CreateOptions, NewGroup, ProjectWriter, RevisionId, SiteRules, UrlLookup, flat_name, pack_path,
    tree_path, url_alternatives,
};

use crate::fixture::{Scratch, json};

#[test]
fn bodies_have_the_names_that_crystal_gives_them() {
    let Some(vectors) = json("vectors/revision_paths.json") else {
        return;
    };
    let vectors = vectors.as_array().unwrap();
    assert_eq!(vectors.len(), 12);
    for vector in vectors {
        let id = RevisionId(vector["id"].as_i64().unwrap());
        let revisions = |below: PathBuf| PathBuf::from("revisions").join(below);
        let expected = |name: &str| PathBuf::from(vector[name].as_str().unwrap());
        assert_eq!(revisions(flat_name(id).unwrap().into()), expected("v1"));
        assert_eq!(revisions(tree_path(id).unwrap()), expected("v2"));
        let (pack, entry) = pack_path(id).unwrap();
        assert_eq!((revisions(pack), entry.into()), (expected("v3_pack"), expected("v3_entry")));
    }
}

#[test]
fn members_are_those_that_crystal_finds() {
    let Some(vectors) = json("vectors/url_patterns.json") else {
        return;
    };
    let vectors = vectors.as_array().unwrap();
    let scratch = Scratch::empty();
    let mut writer = ProjectWriter::create(&scratch.path, CreateOptions::default()).unwrap();
    // The URLs of the vectors are members or not as they stand, so that they are put there as they
    // stand.
    let mut urls: Vec<&str> = vectors.iter().map(|vector| vector["url"].as_str().unwrap()).collect();
    urls.sort_unstable();
    urls.dedup();
    let rows = urls.iter().zip(1..).map(|(url, id)| varve_crystal::Resource {
        id: varve_crystal::ResourceId(id),
        url: (*url).to_owned(),
    });
    writer.restore_resources(rows).unwrap();
    for vector in vectors {
        let (pattern, url) = (vector["pattern"].as_str().unwrap(), vector["url"].as_str().unwrap());
        let new = NewGroup { name: "", url_pattern: pattern, source: None, do_not_download: false };
        let known = writer.groups().map(Result::unwrap).find(|group| group.url_pattern == pattern);
        let group = match known {
            Some(group) => group,
            None => writer.add_group(new).unwrap(),
        };
        let has = |members: Vec<varve_crystal::Resource>| members.iter().any(|member| member.url == url);
        let expected = vector["matches"].as_bool().unwrap();
        assert_eq!(has(writer.members(&group).map(Result::unwrap).collect()), expected, "{pattern} {url}");
    }
}

#[test]
fn urls_are_kept_under_the_names_that_crystal_keeps_them_under() {
    let Some(vectors) = json("vectors/url_normalization.json") else { return };
    let scratch = Scratch::empty();
    let mut writer = ProjectWriter::create(&scratch.path, CreateOptions::default()).unwrap();
    for alias in vectors["aliases"].as_array().unwrap() {
        let [source, target] = [0, 1].map(|at| alias[at].as_str().unwrap());
        writer.add_alias(source, target, alias[2].as_bool().unwrap()).unwrap();
    }
    for case in vectors["cases"].as_array().unwrap() {
        let url = case["url"].as_str().unwrap();
        let last = case["alternatives"].as_array().unwrap().last().unwrap().as_str().unwrap();
        let found = writer.find(url).unwrap();
        match last.strip_prefix("crystal://external/") {
            Some(live) => assert_eq!(found, UrlLookup::External(live.to_owned()), "{url}"),
            None if last.starts_with("crystal:") => {}
            None => {
                let resource = writer.add_resource(url).unwrap();
                assert!(
                    case["alternatives"].as_array().unwrap().iter().any(|known| known == &resource.url),
                    "{url}"
                );
                assert_eq!(writer.find(url).unwrap(), UrlLookup::Resource(resource), "{url}");
                assert!(!matches!(found, UrlLookup::Unknown(new) if new != last), "{url}");
            }
        }
    }
}

#[test]
fn a_url_has_the_alternatives_that_crystal_tries() {
    let Some(vectors) = json("vectors/url_normalization.json") else { return };
    let aliases: Vec<(String, String, bool)> = serde_json::from_value(vectors["aliases"].clone()).unwrap();
    let alias = |(source, target, external)| Alias { source, target, external };
    let aliases = Aliases(aliases.into_iter().map(alias).collect());
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 71);
    for case in cases {
        let found = url_alternatives(case["url"].as_str().unwrap(), &SiteRules::built_in(), &aliases);
        let external = found.external.map(|url| format!("crystal://external/{url}"));
        let all: Vec<_> = found.urls.into_iter().chain(external).collect();
        assert_eq!(serde_json::to_value(&all).unwrap(), case["alternatives"]);
    }
}
