//! The diff of two trees: added, removed, moved and changed nodes.
//!
//! Equal subtrees are paired first, in document order. Then, from the leaves up, elements are
//! paired that are around the same content. Then, from the root down, the unpaired children of
//! paired nodes are paired: by id, by similarity, and by role. The other nodes were added or
//! removed. A subtree that was removed at one place and added unchanged at another has moved, and
//! so has an element with a unique id, and one that changed its order among its siblings.
//!
//! White space between blocks is ignored. Inside of a line, and in `pre` and `textarea`, it counts.
//!
//! Owns the pairing and its report. Does not know noise or how changes are shown.

mod alignment;
mod pairs;
mod quote;
mod report;
mod siblings;
mod similarity;
mod spaces;

pub use report::{NodeChange, NodeChangeKind, NodeSort};

use pairs::NodePairs;
use varve_page::dom::{HtmlTree, TreeCut};

/// Maximum number of changes of a diff.
const MAX_NODE_CHANGES: usize = 10_000;

/// How two trees differ.
#[derive(Debug, Clone)]
pub struct DomDiff {
    /// The changes in the order of the head, removed nodes last.
    pub changes: Vec<NodeChange>,
    /// Whether changes were left out, or not everything was compared.
    pub truncated: bool,
    /// The limit at which a tree ends before its page. Then nothing was compared, because the rest
    /// must not count as equal.
    pub cut: Option<TreeCut>,
}

/// Maximum number of attributes of an element. Each is compared with all others.
const MAX_COMPARED_ATTRIBUTES: usize = 2000;

impl DomDiff {
    /// Compares two trees.
    pub fn between(base: &HtmlTree, head: &HtmlTree) -> Self {
        let cut = base.cut().or(head.cut()).or(burdened(base).or(burdened(head)));
        if cut.is_some() {
            return Self { changes: Vec::new(), truncated: true, cut };
        }
        let pairs = NodePairs::find(base, head);
        let mut changes = report::report(base, head, &pairs, MAX_NODE_CHANGES + 1);
        let truncated = pairs.truncated || changes.len() > MAX_NODE_CHANGES;
        changes.truncate(MAX_NODE_CHANGES);
        Self { changes, truncated, cut }
    }
}

/// Whether an element has too many attributes to be compared.
fn burdened(tree: &HtmlTree) -> Option<TreeCut> {
    tree.nodes()
        .iter()
        .any(|node| node.attributes().len() > MAX_COMPARED_ATTRIBUTES)
        .then_some(TreeCut::Attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(base: &str, head: &str) -> String {
        let diff = DomDiff::between(&HtmlTree::parse(base), &HtmlTree::parse(head));
        diff.changes.iter().map(|change| format!("{change}\n")).collect()
    }

    #[test]
    fn each_kind_of_change_is_reported_with_its_selector() {
        let base = "<title>Old</title><nav><a href=/a>A</a></nav><p id=x class=y>one</p><ul><li>1<li>2</ul><footer>end of the page</footer>";
        let head = "<title>New</title><nav><a href=/b>A</a><a href=/c>C</a></nav><footer>end of the page</footer><p id=x>one</p><ul><li>2</ul>";
        insta::assert_snapshot!(told(base, head), @"
        changed html > head > title: Old -> New
        changed attribute href of html > body > nav > a:nth-of-type(1): /a -> /b
        added html > body > nav > a:nth-of-type(2): <a href=\"/c\">C</a>
        moved html > body > footer: from html > body > footer /* after <ul><li>1</li><li>2</li></ul> */ to html > body > footer /* after <nav><a href=\"/b\">A</a><a href=\"/c\">C</a></nav> */: <footer>end of the page</footer>
        changed attribute class of p#x: y -> nothing
        removed html > body > ul > li:nth-of-type(1): <li>1</li>
        ");
    }

    #[test]
    fn attributes_keep_their_prefixes() {
        let base = "<svg><a xlink:href=a href=b>x</a></svg>";
        insta::assert_snapshot!(told(base, "<svg><a xlink:href=b href=a>x</a></svg>"), @"
        changed attribute xlink:href of html > body > svg > a: a -> b
        changed attribute href of html > body > svg > a: b -> a
        ");
        assert_eq!(
            told("<svg xmlns=http://www.w3.org/2000/svg>", "<svg xmlns=http://www.w3.org/2000/svg>"),
            ""
        );
    }

    #[test]
    fn a_comment_is_reported_with_its_delimiters() {
        let page = |words: &str| format!("<!DOCTYPE html><p>a<!-- {words} -->b");
        let told = told(&page("build seven"), &page("build eight"));
        assert!(told.contains("<!-- build seven -->") && told.contains("<!-- build eight -->"), "{told}");
    }

    #[test]
    fn a_wrapper_is_one_addition() {
        let base = "<body><h1>Title</h1><p>one</p><p>two</p>";
        let head = "<body><div class=w><h1>Title</h1><p>one</p><p>two</p></div>";
        insta::assert_snapshot!(told(base, head), @r#"added html > body > div: <div class="w">…</div>"#);
        insta::assert_snapshot!(told(head, base), @r#"removed html > body > div: <div class="w">…</div>"#);
        let new = "<body><div class=w><h1>Title</h1><p>one</p><b>new</b><p>two</p></div>";
        insta::assert_snapshot!(told(base, new), @r#"added html > body > div: <div class="w">…<b>new</b>…</div>"#);
    }

    /// A list of news, with the times that such lists show.
    fn news(items: &[(&str, &str)]) -> String {
        let item = |(title, time): &(&str, &str)| {
            format!("<li><div><a href=/{title}>{title} happened</a> <span>{time} ago</span></div></li>")
        };
        format!("<h1>News</h1><ul>{}</ul><p>end", items.iter().map(item).collect::<String>())
    }

    #[test]
    fn moved_list_items_are_not_added_ones() {
        let list = |names: &[&str]| {
            let items = names.iter().map(|name| format!("<li><a href=/{name}>{name}</a></li>"));
            format!("<ul>{}</ul>", items.collect::<String>())
        };
        let base = list(&["Apple", "Banana", "Cherry", "Date"]);
        let head = list(&["Zero", "Apple", "Cherry", "Banana", "Date"]);
        insta::assert_snapshot!(told(&base, &head), @r#"
        added html > body > ul > li:nth-of-type(1): <li><a href="/Zero">Zero</a></li>
        moved html > body > ul > li:nth-of-type(4): from html > body > ul > li:nth-of-type(2) to html > body > ul > li:nth-of-type(4): <li><a href="/Banana">Banana</a></li>
        "#);
    }

    #[test]
    fn an_item_added_at_the_top_is_not_paired_with_one_removed_at_the_end() {
        let base = news(&[("a", "1h"), ("b", "2h"), ("c", "3h"), ("d", "4h")]);
        let head = news(&[("x", "1m"), ("a", "1h"), ("b", "2h"), ("c", "3h")]);
        insta::assert_snapshot!(told(&base, &head), @r#"
        added html > body > ul > li:nth-of-type(1): <li><div><a href="/x">x happened</a> <span>1m ago</span></div></li>
        removed html > body > ul > li:nth-of-type(4): <li><div><a href="/d">d happened</a> <span>4h ago</span></div></li>
        "#);
        // The times of those that stay are others, and they are still the same items.
        let later = news(&[("x", "9m"), ("a", "5h"), ("b", "6h"), ("c", "7h")]);
        let told = told(&base, &later);
        let kinds: Vec<_> = told.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(kinds, ["added", "changed", "changed", "changed", "removed"], "{told}");
        assert!(!told.contains("attribute"), "no item became another: {told}");
    }

    #[test]
    fn a_unique_node_is_paired_at_any_position() {
        let base = "<main>old words</main><p>one</p><p>two</p>";
        let head = "<p>one</p><p>two</p><main>new words</main>";
        assert!(
            told(base, head).contains("changed html > body > main: old words -> new words"),
            "{}",
            told(base, head)
        );
        let renamed = told("<p>a<div class=x>b</div><p>c", "<p>a<div class=y>B</div><p>c");
        insta::assert_snapshot!(renamed, @"
        changed attribute class of html > body > div: x -> y
        changed html > body > div: b -> B
        ");
    }

    #[test]
    fn white_space_between_nodes_is_nothing() {
        assert_eq!(told("<ul><li>a</li><li>b</li></ul>", "<ul>\n  <li>a</li>\n  <li> b </li>\n</ul>"), "");
    }

    #[test]
    fn visible_white_space_is_a_change() {
        insta::assert_snapshot!(told("<p><b>a</b> <b>b</b>", "<p><b>a</b><b>b</b>"), @"changed html > body > p > b:nth-of-type(2): a b -> ab");
        insta::assert_snapshot!(told("<p>one <img src=x>two", "<p>one<img src=x> two"), @"
        changed html > body > p > img: one <img> -> one<img>
        changed html > body > p: <img>two -> <img> two
        ");
        assert_eq!(
            told("<textarea>\n\n a</textarea>", "<textarea>a</textarea>"),
            "changed html > body > textarea: \n a -> a\n"
        );
        for (base, head) in [
            ("<p>one<i>two</i>", "<p>one <i>two</i>"),
            ("<p>one<i>two</i>", "<p>one<i> two</i>"),
            ("<a href=x>1</a><!-- c --><a href=y>2</a>", "<a href=x>1</a><!-- c -->\n<a href=y>2</a>"),
            ("<p>a <button>b</button>", "<p>a<button>b</button>"),
            ("<pre>a\n</pre>", "<pre>a</pre>"),
            ("<pre><b>a</b>\n\n<b>b</b></pre>", "<pre><b>a</b>\n<b>b</b></pre>"),
            ("<pre><b>a</b>\n<b>b</b></pre>", "<pre><b>a</b><b>b</b></pre>"),
        ] {
            assert_ne!(told(base, head), "", "{base} / {head}");
        }
    }

    #[test]
    fn invisible_white_space_is_no_change() {
        for (base, head) in [
            ("<p>a</p> <p>b</p>", "<p>a</p><p>b</p>"),
            ("<p> <b>a</b> </p>", "<p><b>a</b></p>"),
            ("<p>a <b>b</b>", "<p>a<b> b</b>"),
            ("<p>a <b>b</b>", "<p>a\n\t <b>b</b>"),
            ("<p>a<br> b", "<p>a <br>b"),
            ("<p>a</p> <script>1</script> <b>b</b>", "<p>a</p><script>1</script><b>b</b>"),
            ("<p>a <input type=hidden> b", "<p>a<input type=hidden> b"),
            ("<select> <option>a</option> </select>", "<select><option>a</option></select>"),
            ("<table> <tr> <td> <i>a</i> </td> </tr> </table>", "<table><tr><td><i>a</i></td></tr></table>"),
            ("<p>a<button> b </button>", "<p>a<button>b</button>"),
        ] {
            assert_eq!(told(base, head), "", "{base} / {head}");
        }
    }

    #[test]
    fn hostile_trees_are_compared_in_bounds() {
        let base: String = (0..8_000).map(|n| format!("<p class=c{}>{}", n % 7, n % 11)).collect();
        let head: String = (0..8_000).map(|n| format!("<p class=c{}>{}", n % 5, n % 13)).collect();
        let diff = DomDiff::between(&HtmlTree::parse(&base), &HtmlTree::parse(&head));
        assert!(!diff.changes.is_empty() && diff.changes.len() <= MAX_NODE_CHANGES);
        let diff = DomDiff::between(&HtmlTree::parse(""), &HtmlTree::parse(&head.repeat(2)));
        assert!(diff.truncated && diff.changes.len() == MAX_NODE_CHANGES);
    }

    #[test]
    fn pairing_by_similarity_is_bounded() {
        // Items that all share words, in a gap that is aligned whole.
        let item =
            |n: usize, word: &str| format!("<li>{word} {} of {} and {word} {}</li>", n % 17, n % 5, n % 3);
        let list = |count: usize, word: &str| (0..count).map(|n| item(n, word)).collect::<String>();
        let between =
            |base: &str, head: &str| DomDiff::between(&HtmlTree::parse(base), &HtmlTree::parse(head));
        assert!(!between(&list(300, "boat"), &list(310, "boats")).changes.is_empty());
        // Equal siblings beside edited ones, at every depth.
        let nested = |word: &str| format!("<div><i>x</i>{word}<i>x</i>").repeat(200);
        assert_eq!(between(&nested("<b>1</b>"), &nested("<b>2</b>")).changes.len(), 200);
        // More children than are aligned.
        assert!(!between(&list(1500, "one"), &list(1500, "two")).changes.is_empty());
    }

    #[test]
    fn unread_bodies_are_not_compared() {
        let deep = |text: &str| HtmlTree::parse(&format!("{}{text}", "<div>".repeat(600)));
        let diff = DomDiff::between(&deep("one"), &deep("two"));
        assert_eq!((diff.cut, diff.truncated, diff.changes.len()), (Some(TreeCut::Depth), true, 0));
        let many = |value: &str| (0..5000).map(|n| format!(" a{n}={value}")).collect::<String>();
        let burdened = |value: &str| HtmlTree::parse(&format!("<p{}>x", many(value)));
        assert_eq!(DomDiff::between(&burdened("1"), &burdened("2")).cut, Some(TreeCut::Attributes));
    }

    fn page() -> impl Strategy<Value = String> {
        "(<(/?(p|b|ul|li|div|a))( (a|id)=[xy])?>|x|yy|<script>1</script>){0,25}"
    }

    proptest! {
        #[test]
        fn a_page_does_not_differ_from_itself(page in page()) {
            prop_assert_eq!(told(&page, &page), "");
        }

        #[test]
        fn equal_reports_mean_equal_trees(base in page(), head in page()) {
            let html = |page: &str| HtmlTree::parse(page).outer_html(0, usize::MAX);
            if told(&base, &head).is_empty() {
                prop_assert_eq!(html(&base), html(&head));
            }
        }

        #[test]
        fn a_new_script_is_always_reported(page in page()) {
            let diff = told(&page, &format!("{page}<script src=evil.js></script>"));
            prop_assert!(diff.contains("evil.js"), "{}", diff);
        }
    }
}
