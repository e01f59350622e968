//! The names of authors in a text: without "by", roles, e-mail addresses and handles.

use super::text::single_spaced;

/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 60;

/// Maximum number of words of a name.
const MAX_NAME_WORDS: usize = 7;

/// Words before a name, in lower case, longest first.
const LEADING_WORDS: [&str; 41] = [
    "words and photos by",
    "article written by",
    "medically reviewed by",
    "this article was written by",
    "this post was written by",
    "contribution by",
    "contributed by",
    "published by",
    "submitted by",
    "reported by",
    "reviewed by",
    "authored by",
    "started by",
    "created by",
    "written by",
    "article by",
    "posted by",
    "author(s):",
    "author name",
    "authors:",
    "author:",
    "authors",
    "author",
    "escrito por",
    "publicado por",
    "geschrieben von",
    "rédigé par",
    "écrit par",
    "publié par",
    "scritto da",
    "words by",
    "story by",
    "posted on",
    "by:",
    "via",
    "by",
    "von",
    "par",
    "por",
    "автор:",
    "автор",
];

/// The names in a text that is a list of authors.
pub(super) fn names(text: &str) -> Vec<String> {
    text.split(';')
        .flat_map(|part| split_list(&without_leading_words(&single_spaced(part))))
        .filter_map(|part| name(&part))
        .collect()
}

/// A text without the words that introduce an author.
pub(super) fn without_leading_words(text: &str) -> String {
    let mut text = text.trim();
    for _ in 0..3 {
        let introduced = LEADING_WORDS.iter().find_map(|word| {
            let start = text.get(..word.len()).filter(|start| start.to_lowercase() == **word)?;
            let rest = &text[start.len()..];
            let is_whole = word.ends_with(':') || rest.starts_with([' ', ':', '\u{a0}']) || rest.is_empty();
            is_whole.then(|| rest.trim_start_matches([' ', ':', '-', '–', '|']))
        });
        match introduced {
            Some(rest) => text = rest,
            None => break,
        }
    }
    text.to_owned()
}

/// Splits "A B, C D and E F" where each part may be a whole name. "Last, First" stays whole, and so
/// does the name of a team.
fn split_list(text: &str) -> Vec<String> {
    let joined = text
        .replace(" and ", ", ")
        .replace(" & ", ", ")
        .replace(" und ", ", ")
        .replace(" et ", ", ")
        .replace(" y ", ", ");
    let mut parts: Vec<&str> = joined.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.iter().any(|part| !is_role(part)) {
        parts.retain(|part| !is_role(part));
    }
    let is_name = |part: &&str| {
        let words = part.split(' ').count();
        (2..=4).contains(&words)
            && part.split(' ').all(|word| word.starts_with(char::is_uppercase) || word.len() <= 3)
    };
    if !parts.is_empty() && (parts.len() > 1 || joined.contains(',')) && parts.iter().all(is_name) {
        return parts.into_iter().map(str::to_owned).collect();
    }
    // A role or a place follows the name.
    match text.split_once(", ") {
        Some((name, role)) if name.contains(' ') && !is_suffix(role) => vec![name.to_owned()],
        _ => vec![text.to_owned()],
    }
}

/// Whether a text is what somebody does, and no name.
fn is_role(text: &str) -> bool {
    text.split(' ').any(|word| ROLE_WORDS.iter().any(|role| word.eq_ignore_ascii_case(role)))
}

/// Words of roles, in lower case.
const ROLE_WORDS: [&str; 14] = [
    "editor",
    "editors",
    "director",
    "manager",
    "contributor",
    "reporter",
    "correspondent",
    "founder",
    "ceo",
    "president",
    "specialist",
    "analyst",
    "engineer",
    "consultant",
];

/// Degrees and generations belong to a name.
fn is_suffix(text: &str) -> bool {
    let first = text.split([',', ' ']).next().unwrap_or_default();
    let letters = first.chars().filter(|letter| letter.is_alphabetic()).count();
    let capitals = first.chars().filter(|letter| letter.is_uppercase()).count();
    matches!(first, "Jr" | "Jr." | "Sr." | "Inc" | "Inc." | "LLC" | "Ltd")
        || (letters > 0 && letters <= 5 && capitals * 2 >= letters)
}

/// One name, or nothing if the text cannot be one.
fn name(text: &str) -> Option<String> {
    let text = without_address(text);
    let text = text.split(['|', '•', '·', '—', '–']).map(str::trim).find(|part| !part.is_empty())?;
    let text = text
        .trim_matches(|letter: char| {
            letter.is_whitespace() || matches!(letter, ',' | ':' | '-' | '.' | '/' | '*' | '"' | '“' | '”')
        })
        .to_owned()
        + if ends_with_initial(text) { "." } else { "" };
    let has_letters = text.chars().any(char::is_alphanumeric);
    let is_short = text.chars().count() <= MAX_NAME_CHARS && text.split(' ').count() <= MAX_NAME_WORDS;
    let is_address =
        text.contains("://") || text.starts_with("www.") || text.contains('@') || text.starts_with('/');
    let is_nobody = NO_NAMES.iter().any(|word| text.eq_ignore_ascii_case(word));
    (has_letters && is_short && !is_address && !is_nobody).then_some(text)
}

/// Whether a text ends with an abbreviation, whose period belongs to it.
fn ends_with_initial(text: &str) -> bool {
    let last = text.rsplit(' ').next().unwrap_or_default();
    last.ends_with('.') && last.len() <= 6 && text.contains(' ')
}

/// Texts that stand where a name should and name nobody, in lower case.
const NO_NAMES: [&str; 12] = [
    "admin",
    "administrator",
    "author",
    "anonymous",
    "unknown",
    "guest",
    "null",
    "undefined",
    "none",
    "n/a",
    "staff",
    "editor",
];

/// A text without e-mail addresses, handles and what stands in brackets.
fn without_address(text: &str) -> String {
    let mut kept = String::new();
    let mut depth = 0_usize;
    for word in text.split(' ') {
        let opens = word.matches(['(', '<', '[']).count();
        let closes = word.matches([')', '>', ']']).count();
        if depth == 0 && opens == 0 && !word.contains('@') {
            if !kept.is_empty() {
                kept.push(' ');
            }
            kept.push_str(word);
        }
        depth = (depth + opens).saturating_sub(closes);
    }
    kept
}
