//! Tests of the text of a plan, of its problems, and of changes to it.

use super::*;
use proptest::prelude::*;

const TEXT: &str = "---
aliases:
- external: true
  source: https://ads.example.com/
  target: https://ads.example.com/
groups:
- found_on: Home
  name: Comics
  pattern: https://example.com/#/
- do_not_download: true
  name: Ads
  pattern: https://example.com/ads/**
roots:
- name: Home
  url: https://example.com/
";

fn plan() -> Plan {
    Plan::parse(TEXT).unwrap()
}

fn refused(text: &str) -> String {
    Plan::parse(text).unwrap_err().to_string()
}

fn group(name: &str, pattern: &str, found_on: Option<&str>) -> Group {
    let found_on = found_on.map(str::to_owned);
    Group { name: name.to_owned(), pattern: pattern.to_owned(), found_on, do_not_download: false }
}

#[test]
fn a_plan_is_read_and_sorted() {
    let plan = plan();
    assert_eq!(plan.problems(), []);
    assert_eq!(plan.roots, [Root { name: "Home".into(), url: "https://example.com/".into() }]);
    assert_eq!(plan.groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["Ads", "Comics"]);
    assert!(plan.groups[0].do_not_download && plan.aliases[0].external);
    assert_eq!(Plan::parse(&plan.text()), Ok(plan));
    assert_eq!(Plan::default().text(), "--- {}\n");
    for nothing in ["", "---\n", "--- {}\n", "roots:\n"] {
        assert_eq!(Plan::parse(nothing), Ok(Plan::default()), "{nothing:?}");
    }
}

#[test]
fn names_may_be_left_out_or_look_like_numbers() {
    let plan = Plan::parse("roots:\n- url: https://a.com/\n- {name: 2024, url: https://b.com/}\n").unwrap();
    assert_eq!(plan.names().collect::<Vec<_>>(), ["2024", "https://a.com/"]);
}

#[test]
fn errors_have_a_line_and_a_column() {
    let key = "line 3, column 3: `link` is not a key of a root; it has `name` and `url`";
    assert_eq!(refused("roots:\n- url: https://a.com/\n  link: x\n"), key);
    assert_eq!(
        refused("seeds: []\n"),
        "line 1, column 1: `seeds` is not a key of a plan; it has `aliases`, `groups` and `roots`"
    );
    assert_eq!(refused("groups:\n- name: x\n"), "line 2, column 3: a group needs `pattern`");
    assert_eq!(
        refused("groups:\n- name: x\n  do_not_download: perhaps\n"),
        "line 3, column 3: `true` or `false` belongs here"
    );
    assert_eq!(refused("roots: https://a.com/\n"), "line 1, column 1: a list belongs here");
    assert_eq!(refused("roots:\n- url: [1]\n"), "line 2, column 3: a text belongs here");
    assert_eq!(refused("--- {}\n--- {}\n"), "line 2, column 1: a plan is one document");
    assert!(refused("roots: [").starts_with("line "));
    assert!(refused("- a\n").starts_with("line 1, column 1: "));
}

#[test]
fn every_problem_is_found() {
    let text = "
aliases:
- {source: 'https://a.com', target: 'https://b.com/'}
- {source: 'https://s.com/', target: 'https://s.com/'}
- {source: 'https://x.com/', target: 'https://y.com/', external: true}
- {source: 'https://x.com/', target: 'https://z.com/'}
groups:
- {name: One, pattern: 'https://a.com/#', found_on: Nowhere}
- {name: Two, pattern: 'https://a.com/*', found_on: Three}
- {name: Three, pattern: 'https://b.com/*', found_on: Two}
- {name: Home, pattern: 'https://b.com/*'}
- {name: Odd, pattern: 'a.com/*'}
- {name: Blank, pattern: 'https://a.com/ '}
- {name: '', pattern: '**.pdf'}
roots:
- {name: Home, url: 'https://c.com/'}
- {name: Again, url: 'HTTPS://c.com'}
- {name: Mail, url: 'mailto:a@b.com'}
- {name: Out, url: 'https://x.com/p'}
";
    let problems: Vec<String> =
        Plan::parse(text).unwrap().problems().iter().map(ToString::to_string).collect();
    for wanted in [
        "`**.pdf` has an empty name",
        "the name `Home` is given twice",
        "is a root twice",
        "`mailto:a@b.com` is not the URL of a page",
        "the root `Out` is never captured",
        "the pattern `https://b.com/*` is given twice",
        "the pattern `a.com/*` begins neither",
        "holds white space",
        "the group `One` is found on `Nowhere`, which is neither",
        "the group `Two` is never found: no root leads to `Three`",
        "`https://a.com` does not end with `/`",
        "there are two aliases for `https://x.com/`",
        "the alias `https://s.com/` leads to itself",
    ] {
        assert!(problems.iter().any(|problem| problem.contains(wanted)), "{wanted}\n{problems:#?}");
    }
}

#[test]
fn a_group_may_be_found_on_itself_if_a_root_is_in_it() {
    let mut plan = Plan::default();
    plan.add_root(Root { name: "100".into(), url: "https://a.com/100/".into() }).unwrap();
    plan.add_group(group("Strips", "https://a.com/#/", Some("Strips"))).unwrap();
    assert_eq!(plan.problems(), []);
}

#[test]
fn an_edit_that_makes_it_worse_is_refused() {
    let mut plan = plan();
    let twice = Root { name: "Comics".into(), url: "https://other.com/".into() };
    assert!(matches!(plan.add_root(twice), Err(EditError::Problem(Problem::DuplicateName { .. }))));
    let lost = group("More", "https://example.com/more/*", Some("Hom"));
    assert!(matches!(plan.add_group(lost), Err(EditError::Problem(Problem::Dangling { .. }))));
    assert_eq!(plan, self::plan());
    let refused = plan.remove_root("Home", false).unwrap_err();
    assert_eq!(refused.to_string(), "other groups are found on `Home`: `Comics`");
    let removed = plan.remove_root("https://example.com/", true).unwrap();
    assert_eq!(removed.cleared, ["Comics"]);
    assert!(plan.groups.iter().all(|group| group.found_on.is_none()));
    assert!(plan.remove_group("Comics", false).unwrap().cleared.is_empty());
    assert!(matches!(plan.remove_group("Comics", false), Err(EditError::Absent { .. })));
    assert!(plan.remove_alias("https://ads.example.com/").unwrap().external);
}

#[test]
fn aliases_in_a_circle_are_named_once() {
    let alias = |(source, target): (&str, &str)| Alias {
        source: format!("https://{source}/"),
        target: format!("https://{target}/"),
        external: false,
    };
    let problems = |pairs: &[(&str, &str)]| {
        let plan = Plan { aliases: pairs.iter().copied().map(alias).collect(), ..Plan::default() };
        plan.problems().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let told = "the aliases lead in a circle: `https://a/` to `https://c/` to `https://b/` to `https://a/`";
    assert_eq!(problems(&[("b", "a"), ("c", "b"), ("a", "c"), ("d", "a")]), [told]);
    assert_eq!(problems(&[("a", "b"), ("b", "c"), ("d", "d/e")]), [""; 0]);
}

#[test]
fn the_longest_alias_decides() {
    let alias =
        |source: &str, target: &str| Alias { source: source.into(), target: target.into(), external: false };
    let plan = Plan {
        aliases: vec![alias("https://a.com/", "https://b.com/"), alias("https://a.com/x/", "https://c.com/")],
        ..Plan::default()
    };
    assert_eq!(plan.aliases().apply("https://a.com/x/y").unwrap().url(), "https://c.com/y");
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9:/#*@?&=' \"-]{0,20}",
        any::<String>(),
        Just("yes".to_owned()),
        Just("~".to_owned())
    ]
}

prop_compose! {
    fn plans()(
        roots in prop::collection::vec((texts(), texts()), 0..4),
        groups in prop::collection::vec((texts(), texts(), prop::option::of(texts()), any::<bool>()), 0..4),
        aliases in prop::collection::vec((texts(), texts(), any::<bool>()), 0..4),
    ) -> Plan {
        Plan {
            roots: roots.into_iter().map(|(name, url)| Root { name, url }).collect(),
            groups: groups
                .into_iter()
                .map(|(name, pattern, found_on, do_not_download)| Group { name, pattern, found_on, do_not_download })
                .collect(),
            aliases: aliases
                .into_iter()
                .map(|(source, target, external)| Alias { source, target, external })
                .collect(),
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(mut plan in plans()) {
        plan.sort();
        let text = plan.text();
        prop_assert_eq!(Plan::parse(&text), Ok(plan.clone()), "{}", text);
        let _ = plan.problems();
    }

    #[test]
    fn no_text_panics(text in "(roots|groups|aliases|name|url|pattern|[-:{}\\[\\] \n,'a1~]){0,30}") {
        if let Ok(plan) = Plan::parse(&text) {
            let once = plan.text();
            prop_assert_eq!(Plan::parse(&once).map(|plan| plan.text()), Ok(once));
        }
    }
}

#[test]
fn user_info_is_a_problem_and_is_never_shown() {
    let root = |url: &str| Root { name: url.to_owned(), url: url.to_owned() };
    let secret = "https://me:hunter2@example.com/";
    let alias = |source: &str, target: &str| Alias {
        source: source.to_owned(),
        target: target.to_owned(),
        external: false,
    };
    let refusals = [
        Plan::default().add_root(root(secret)),
        Plan::default().add_root(Root { name: secret.to_owned(), url: "https://example.com/".to_owned() }),
        Plan::default().add_group(group("All", "https://me:hunter2@example.com/**", None)),
        Plan::default().add_alias(alias(secret, "https://example.org/")),
        Plan::default().add_alias(alias("https://example.org/", secret)),
    ];
    for refused in refusals {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("user name or password"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    let broken = Plan {
        roots: vec![root(secret), root(secret)],
        aliases: vec![alias(secret, secret)],
        groups: vec![group("x", "https://me:hunter2@h/ x", Some("https://me:hunter2@h/"))],
    };
    let problems: Vec<String> = broken.problems().iter().map(ToString::to_string).collect();
    assert!(problems.len() > 5, "{problems:?}");
    assert!(problems.iter().all(|problem| !problem.contains("hunter2")), "{problems:?}");
    let absent = Plan::default().remove_root(secret, false).unwrap_err().to_string();
    assert!(!absent.contains("hunter2"), "{absent}");
}

#[test]
fn repeated_keys_are_errors_that_name_both_lines() {
    let twice = "roots:\n- url: https://a.com/\nroots:\n- url: https://b.com/\n";
    assert_eq!(refused(twice), "line 3, column 1: the key `roots` was given before, on line 1");
    let inside = "roots:\n- url: https://a.com/\n  url: https://b.com/\n";
    assert_eq!(refused(inside), "line 3, column 3: the key `url` was given before, on line 2");
}
