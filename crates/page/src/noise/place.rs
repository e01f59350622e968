//! Where a value stands: in a comment, in a tag, beside words that say that it tells when the page was made.
//!
//! A date is what people write about until its surroundings say otherwise. Looks only at what stands before a value, and
//! never further than [`FAR`].

use regex::bytes::{Regex, RegexBuilder};
use std::sync::LazyLock;

/// How far before a value its surroundings reach.
const FAR: usize = 240;

/// Elements at whose start a new thought begins.
const BLOCKS: [&str; 14] = [
    "article",
    "aside",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "li",
    "p",
    "section",
    "table",
    "tr",
];

/// Words after which a time is that of the page, if nothing but small words follows.
static SAYS_SO: LazyLock<Regex> = LazyLock::new(|| {
    ascii(concat!(
        r"(?i)(?:(?:^|[.,;|(])\s*(?:updated|built|compiled|rendered)|",
        r"\b(?:page|site|docs|last|version) (?:updated|built|compiled|rendered)|",
        r"\b(?:article|document|data|list|was|is) updated|",
        r"(?:^|[^\w-])(?:cached|refreshed|last[ -]modified|generated(?: by [\w.()/ -]{1,40}? (?:on|at))?|",
        r"page (?:was )?(?:loaded|served|created)|(?:server|current) time))",
        r"(?: date| time)?(?:\s*[:,@(-]|\s+(?:on|at|was|is)\b){0,4}\s*$",
    ))
});

/// Words that say so anywhere before a date in a comment.
static SAYS_SO_IN_COMMENT: LazyLock<Regex> =
    LazyLock::new(|| ascii(r"(?i)\b(?:generated|rendered|updated|built|cached|compiled)\b"));

/// What says so before a time in a comment: no other words at all, or words of programs. Who writes a comment about a sale that ends
/// at some time writes neither.
static SAYS_SO_IN_TIMED_COMMENT: LazyLock<Regex> = LazyLock::new(|| {
    ascii(concat!(
        r"(?i)^[^a-z]*$|\b(?:generated|rendered|updated|refreshed|build|built|cached?|compiled|served|created|processed|executed|",
        r"mirrored|exported|saved|timestamp|last[ -]modified|(?:server|current|page|load|render) time|(?:on|at|from) server)\b",
    ))
});

fn ascii(form: &str) -> Regex {
    RegexBuilder::new(form).unicode(false).build().expect("the forms of surroundings are tested")
}

/// Whether the time at `start` tells when the page was made.
pub(super) fn tells_when_made(text: &str, start: usize) -> bool {
    let before = before(text, start);
    match open_comment(before) {
        Some(comment) => SAYS_SO_IN_TIMED_COMMENT.is_match(comment.as_bytes()),
        None => SAYS_SO.is_match(words(before).as_bytes()),
    }
}

/// Whether what stands at `start` is in a comment.
pub(super) fn is_in_comment(text: &str, start: usize) -> bool {
    open_comment(before(text, start)).is_some()
}

/// Whether readers see what stands at `start`: the last tag before it has ended, and is not that of a script or a style. Where no
/// tag is near, nobody knows.
pub(super) fn is_shown(text: &str, start: usize) -> bool {
    let before = before(text, start);
    let Some(open) = before.rfind('<') else { return false };
    let tag = &before[open + 1..];
    let is = |name: &str| tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    if tag.starts_with("!--") {
        return tag.contains("-->");
    }
    let is_markup = tag.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
    is_markup && tag.contains('>') && !is("script") && !is("style") && !is("template")
}

/// Whether something is loaded from the address at `start`, and not only linked to or shown.
pub(super) fn is_loaded(text: &str, start: usize) -> bool {
    match open_tag(before(text, start)) {
        Some(tag) => !["<a ", "<a\n", "<a\t", "<area", "<form"]
            .iter()
            .any(|name| tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))),
        None => !is_shown(text, start),
    }
}

/// Whether the date at `start` stands in a comment that says that the page was made then.
pub(super) fn is_dated_comment(text: &str, start: usize) -> bool {
    open_comment(before(text, start)).is_some_and(|comment| SAYS_SO_IN_COMMENT.is_match(comment.as_bytes()))
}

/// Whether what stands at `start` is within a tag. Not if that is a time: all it says is shown in its text.
pub(super) fn is_in_tag(text: &str, start: usize) -> bool {
    open_tag(before(text, start))
        .is_some_and(|tag| !tag.get(..5).is_some_and(|name| name.eq_ignore_ascii_case("<time")))
}

/// Whether a new thought begins with such an element.
pub(super) fn is_block(element: &str) -> bool {
    BLOCKS.contains(&element)
}

fn before(text: &str, start: usize) -> &str {
    &text[text.floor_char_boundary(start.saturating_sub(FAR))..start]
}

/// What stands in the comment that the text ends in. Comments with conditions are markup to some, and one at the start of a
/// script hides it from very old browsers only.
fn open_comment(before: &str) -> Option<&str> {
    let (above, comment) = before.rsplit_once("<!--")?;
    let in_script = above
        .trim_end()
        .strip_suffix('>')
        .and_then(|tag| tag.rsplit_once('<'))
        .is_some_and(|(_, tag)| tag.get(..6).is_some_and(|name| name.eq_ignore_ascii_case("script")));
    (!comment.contains("-->") && !comment.starts_with('[') && !in_script).then_some(comment)
}

/// The tag that the text ends in.
fn open_tag(before: &str) -> Option<&str> {
    let tag = &before[before.rfind('<')?..];
    (!tag.contains('>')).then_some(tag)
}

/// What a reader has read in the same thought just before: the text without its tags. Within an attribute that is what the
/// attribute says, but for the time of a `time` element, which is shown.
fn words(before: &str) -> String {
    let Some(tag) = open_tag(before) else { return without_tags(before) };
    let shown = tag.trim_end_matches(['"', '\'']).to_ascii_lowercase();
    if shown.starts_with("<time") && shown.ends_with("datetime=") {
        return without_tags(&before[..before.len() - tag.len()]);
    }
    tag.rsplit(['"', '\'']).next().unwrap_or_default().to_owned()
}

fn without_tags(text: &str) -> String {
    let mut words = String::new();
    let mut pieces = text.split('<');
    words.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (tag, rest) = piece.split_once('>').unwrap_or((piece, ""));
        let name: String =
            tag.chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        if is_block(&name) {
            words.clear();
        }
        words.push_str(rest);
    }
    words.replace("&nbsp;", " ").replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the value that `|` stands before tells when the page was made.
    fn told(text: &str) -> bool {
        let start = text.find('|').unwrap();
        tells_when_made(text, start)
    }

    #[test]
    fn words_and_comments_say_so() {
        for text in [
            "<!-- |",
            "<!-- build 7: |",
            "<!-- Served from: www.example.com @ |",
            "<p>Last updated: |",
            "<p>Last updated:&nbsp;|",
            "<p>Generated on |",
            "generated by Doxygen 1.9 on |",
            "<p>Last updated: <time datetime=\"|",
            "<p>Last updated: <time datetime=\"x\">|",
            "<span>Page loaded at</span> <b>|",
            "<span title=\"Rendered at |",
            "<td>Server time:</td><td>|",
            "<p>Built on |",
            "<p>Version 3. Site built |",
        ] {
            assert!(told(text), "{text}");
        }
    }

    #[test]
    fn other_surroundings_do_not() {
        for text in [
            "|",
            "<p>Concert on |",
            "<p>The updated concert on |",
            "<h2>Updated</h2><p>|",
            "<!-- generated --><p>|",
            "<!-- the sale ends |",
            "<p>Verdict rendered |",
            "<p>Opening hours updated: |",
            "<!--[if IE]><p>|",
            "<script><!-- var concert = '|",
            "<p>Updated: yesterday</p><p>|",
            "<p>Updated</p><div data-start=\"|",
            "<p>Updated <time data-start=\"|",
            "Dinner served at |",
            "outdated |",
            "<p>The church was built |",
        ] {
            assert!(!told(text), "{text}");
        }
        assert!(is_dated_comment("<!-- Generated at |", 18));
        assert!(!is_dated_comment("<!-- Published |", 15));
        assert!(is_in_tag("<p a=|", 5) && !is_in_tag("<p>a=|", 5) && !is_in_tag("<time a=|", 8));
    }
}
