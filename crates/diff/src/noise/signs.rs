//! Which signs a text shows, so that only patterns are asked that can match.
//!
//! Every line that changed is looked at so, and next to no line shows any sign: all words of the table are looked for in one pass,
//! and nothing is allocated.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::pattern::Sign;
use super::rules::RULES;

/// A set of words of the table: a bit for each, by its place among them.
pub(super) type WordSet = u128;

/// The words of all signs, each once.
static LIST: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let signs = RULES.iter().flat_map(|rule| rule.patterns).map(|pattern| pattern.sign);
    let mut list: Vec<_> = signs.flat_map(Sign::words).copied().collect();
    list.sort_unstable();
    list.dedup();
    list
});

/// Finds them, however they are written.
static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
    builder.build(&*LIST).expect("the words are few and short")
});

/// Those that a text has.
fn words_of(text: &[u8]) -> WordSet {
    FINDER.find_overlapping_iter(text).fold(0, |found, word| found | 1 << word.pattern().as_usize())
}

impl Sign {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Words(words) => words,
            Self::Clock | Self::LongNumber | Self::LongHex => &[],
        }
    }

    /// The words of which a text must have one. None where it takes something else.
    pub(super) fn word_set(self) -> WordSet {
        let is_own = |word: &str| self.words().contains(&word);
        let own = LIST.iter().enumerate().filter(|(_, word)| is_own(word));
        own.fold(0, |set, (place, _)| set | 1 << place)
    }
}

/// What a text shows of signs.
pub(super) struct Signs {
    words: WordSet,
    clock: bool,
    decimal: bool,
    hex: bool,
}

impl Signs {
    pub(super) fn of(text: &str) -> Self {
        let text = text.as_bytes();
        let is_digit = |place: usize| text.get(place).is_some_and(u8::is_ascii_digit);
        Self {
            words: words_of(text),
            clock: memchr::memchr_iter(b':', text).any(|at| at > 0 && is_digit(at - 1) && is_digit(at + 1)),
            decimal: has_run(text, 9, u8::is_ascii_digit),
            hex: has_run(text, 16, u8::is_ascii_hexdigit),
        }
    }

    /// Whether a sign is shown, of which these are the words.
    pub(super) fn show(&self, sign: Sign, words: WordSet) -> bool {
        match sign {
            Sign::Words(_) => self.words & words != 0,
            Sign::Clock => self.clock,
            Sign::LongNumber => self.decimal,
            Sign::LongHex => self.hex,
        }
    }
}

/// Whether so many bytes of a kind stand in a row. However it lies, such a row has one of the bytes that are that far apart.
fn has_run(text: &[u8], length: usize, kind: fn(&u8) -> bool) -> bool {
    let run = |at: usize| {
        let before = text[..at].iter().rev().take_while(|byte| kind(byte)).count();
        before + text[at..].iter().take_while(|byte| kind(byte)).count()
    };
    (length - 1..text.len()).step_by(length).any(|at| kind(&text[at]) && run(at) >= length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_word_has_its_bit() {
        assert!(LIST.len() <= WordSet::BITS as usize);
    }

    proptest! {
        #[test]
        fn each_sign_is_seen_wherever_it_stands(
            text in "(nonce|CSRF|_token|\\.Js|sid|Session|session_id|<meta|PAGE|/\\(s\\(|12|:|[0-9]{8}|abcdef|é|[a-z<. ]){0,12}"
        ) {
            let signs = Signs::of(&text);
            let small = text.to_ascii_lowercase();
            let row = |length, kind: fn(char) -> bool| small.split(|letter| !kind(letter)).any(|row| row.len() >= length);
            for pattern in RULES.iter().flat_map(|rule| rule.patterns) {
                let shown = match pattern.sign {
                    Sign::Words(words) => words.iter().any(|word| small.contains(word)),
                    Sign::Clock => small.as_bytes().windows(3).any(|three| {
                        three[1] == b':' && three[0].is_ascii_digit() && three[2].is_ascii_digit()
                    }),
                    Sign::LongNumber => row(9, |letter| letter.is_ascii_digit()),
                    Sign::LongHex => row(16, |letter| letter.is_ascii_hexdigit()),
                };
                prop_assert_eq!(signs.show(pattern.sign, pattern.sign.word_set()), shown, "{:?}", pattern.sign);
            }
        }
    }
}
