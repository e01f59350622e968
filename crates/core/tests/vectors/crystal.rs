//! Group patterns against what Crystal answers.

use crate::json_list;
use varve_core::pattern::{AtSign, GroupPattern};

#[test]
fn group_patterns() {
    let Some(cases) = json_list("crystal/vectors/url_patterns.json") else { return };
    assert_eq!(cases.len(), 47);
    for case in cases {
        let text = |field: &str| case[field].as_str().unwrap();
        let pattern = GroupPattern::new(text("pattern"), AtSign::Literal);
        assert_eq!(pattern.matches(text("url")), case["matches"], "{case}");
        assert_eq!(pattern.literal_prefix(), text("literal_prefix"), "{case}");
    }
}
