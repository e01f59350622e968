//! Words that tell content from its surroundings: in the names of classes and in short texts.
//!
//! The words are those of themes, frameworks and content systems, in English as their authors write
//! them. No word decides: each group is a number that the model weighs with the others.

use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// Groups of words in `class`, `id`, `role` and `itemprop`, found anywhere in the value.
pub(crate) const CLASS_WORD_GROUPS: [(&str, &[&str]); 18] = [
    ("navigation", &["nav", "menu", "breadcrumb"]),
    ("footer", &["foot", "colophon"]),
    ("masthead", &["head", "banner", "hero"]),
    ("sidebar", &["side", "rail", "widget"]),
    (
        "related",
        &[
            "relat",
            "recommend",
            "similar",
            "suggest",
            "more-",
            "popular",
            "trending",
            "upsell",
            "cross-sell",
            "also",
            "recent",
            "latest",
        ],
    ),
    ("share", &["shar", "social", "follow", "twitter", "facebook"]),
    ("comment", &["comment", "disqus", "respon", "repl"]),
    ("consent", &["cookie", "consent", "gdpr", "privacy", "advert", "sponsor", "promo"]),
    ("overlay", &["modal", "popup", "overlay", "dialog", "drawer", "tooltip", "toast", "dropdown"]),
    (
        "account",
        &[
            "newsletter",
            "subscri",
            "signup",
            "sign-up",
            "login",
            "register",
            "account",
            "cart",
            "basket",
            "checkout",
            "form",
        ],
    ),
    (
        "byline",
        &[
            "meta", "byline", "author", "date", "time", "tag", "categor", "label", "badge", "rating", "stat",
            "vote", "count", "user", "avatar", "profile",
        ],
    ),
    (
        "control",
        &[
            "pagina", "pager", "next", "prev", "toolbar", "action", "button", "btn", "tab", "filter", "sort",
            "search", "control", "option",
        ],
    ),
    (
        "content",
        &[
            "content", "article", "post", "entry", "body", "main", "text", "story", "prose", "markdown",
            "wysiwyg", "rich",
        ],
    ),
    ("product", &["product", "desc", "detail", "spec", "feature", "price", "item"]),
    ("card", &["card", "tile", "grid", "list", "result", "collection", "teaser", "block", "col"]),
    ("forum", &["message", "topic", "thread", "question", "answer", "bbp", "forum", "reply"]),
    ("manual", &["doc", "wiki", "manual", "guide", "section"]),
    ("legal", &["copyright", "legal", "disclaimer", "terms", "caption", "credit", "toc"]),
];

/// Number of groups of class words.
pub(crate) const CLASS_GROUP_COUNT: usize = CLASS_WORD_GROUPS.len();

/// Groups of phrases in short texts. A space is the boundary of a word.
pub(crate) const PHRASE_GROUPS: [(&str, &[&str]); 6] = [
    (
        "subscription",
        &[
            " sign up",
            " subscribe",
            " newsletter",
            " log in",
            " login",
            " register",
            " create account",
            " create an account",
            " join us",
            " join now",
            " your email",
        ],
    ),
    (
        "invitation",
        &[
            " read more",
            " learn more",
            " see more",
            " view all",
            " show more",
            " load more",
            " see all",
            " continue reading",
            " click here",
            " view more",
            " shop now",
            " buy now",
            " get started",
            " find out more",
        ],
    ),
    (
        "legal",
        &[
            " all rights reserved",
            " privacy policy",
            " terms of",
            " terms and",
            " cookie",
            " copyright ",
            " disclaimer",
            " affiliate",
        ],
    ),
    (
        "related",
        &[
            " you may also like",
            " you might also like",
            " you may like",
            " you might like",
            " be interested",
            " related",
            " recommended",
            " more from",
            " popular",
            " trending",
            " recent posts",
            " recent articles",
            " latest",
            " up next",
            " similar",
            " customers also",
            " frequently bought",
            " also bought",
            " also viewed",
        ],
    ),
    (
        "discussion",
        &[" comment", " leave a reply", " reply ", " replies ", " responses ", " review ", " reviews "],
    ),
    (
        "purchase",
        &[
            " add to cart",
            " add to bag",
            " add to basket",
            " add to wishlist",
            " in stock",
            " out of stock",
            " sold out",
            " quantity",
            " shipping",
            " delivery",
            " returns ",
            " checkout",
            " compare",
            " filter",
            " sort by",
            " price",
        ],
    ),
];

/// The most frequent words of English prose. Lists, menus and tables have few of them.
const STOP_WORDS: [&str; 52] = [
    "a", "about", "all", "also", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "for",
    "from", "had", "has", "have", "he", "his", "how", "i", "if", "in", "is", "it", "its", "may", "more",
    "not", "of", "on", "one", "or", "our", "so", "than", "that", "the", "their", "there", "they", "this",
    "to", "was", "we", "will", "with", "would", "you", "your",
];

/// Finds groups of words: a set of bits, one for each group.
struct GroupFinder {
    automaton: AhoCorasick,
    /// The group of each pattern.
    groups: Vec<u32>,
}

impl GroupFinder {
    fn new(groups: &[(&str, &[&str])]) -> Self {
        let patterns = groups.iter().flat_map(|(_, words)| words.iter());
        let numbers = (0u32..).zip(groups).flat_map(|(group, (_, words))| words.iter().map(move |_| group));
        Self {
            automaton: AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(patterns)
                .expect("the words are few and short"),
            groups: numbers.collect(),
        }
    }

    fn find(&self, text: &str) -> u32 {
        let matches = self.automaton.find_overlapping_iter(text);
        matches.fold(0, |found, word| found | 1 << self.groups[word.pattern().as_usize()])
    }
}

/// The groups of class words in a value, as a set of bits.
pub(crate) fn class_groups(value: &str) -> u32 {
    static FINDER: LazyLock<GroupFinder> = LazyLock::new(|| GroupFinder::new(&CLASS_WORD_GROUPS));
    FINDER.find(value)
}

/// The groups of phrases in a text of words that are divided, begun and ended by one space.
pub(crate) fn phrase_groups(words: &str) -> u32 {
    static FINDER: LazyLock<GroupFinder> = LazyLock::new(|| GroupFinder::new(&PHRASE_GROUPS));
    FINDER.find(words)
}

/// Whether a word is one of the most frequent words of English.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: u32, groups: &[(&'static str, &[&str])]) -> Vec<&'static str> {
        (0..groups.len()).filter(|group| found & 1 << group != 0).map(|group| groups[group].0).collect()
    }

    #[test]
    fn class_words_are_found_inside_of_names() {
        let of = |value| names(class_groups(value), &CLASS_WORD_GROUPS);
        assert_eq!(of("SiteNav__list"), ["navigation", "card"]);
        assert_eq!(of("post-content"), ["content"]);
        assert_eq!(of("x1"), Vec::<&str>::new());
    }

    #[test]
    fn phrases_are_found_at_the_boundaries_of_words() {
        let of = |text| names(phrase_groups(text), &PHRASE_GROUPS);
        assert_eq!(of(" 12 replies to this post "), ["discussion"]);
        assert_eq!(of(" you may also like "), ["related"]);
        assert_eq!(of(" unsubscribe "), Vec::<&str>::new());
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted() && is_stop_word("the") && !is_stop_word("thermal"));
    }
}
