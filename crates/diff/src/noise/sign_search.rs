//! Which signs a text shows, so that only patterns are tried that can match.
//!
//! Every changed text is searched, and most show no sign. All words of the table are searched in one pass without
//! allocation.

use super::pattern::PatternSign;
use super::rules::NOISE_RULES;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::sync::LazyLock;

/// A set of words of the table: one bit for each word.
pub(super) type SignWords = u128;

/// The words of all signs, each once.
static SIGN_WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let signs = NOISE_RULES.iter().flat_map(|rule| rule.patterns).map(|pattern| pattern.sign);
    let mut list: Vec<_> = signs.flat_map(PatternSign::words).copied().collect();
    list.sort_unstable();
    list.dedup();
    list
});

/// Finds the words in either case.
static WORD_SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
    builder.build(&*SIGN_WORDS).expect("the words are few and short")
});

/// The words that a text has.
fn words_of(text: &[u8]) -> SignWords {
    WORD_SEARCH.find_overlapping_iter(text).fold(0, |found, word| found | 1 << word.pattern().as_usize())
}

impl PatternSign {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Words(words) => words,
            Self::Clock | Self::LongNumber | Self::LongHex => &[],
        }
    }

    /// The words of which a text must have one. Empty for signs that are no words.
    pub(super) fn word_set(self) -> SignWords {
        let is_own = |word: &str| self.words().contains(&word);
        let own = SIGN_WORDS.iter().enumerate().filter(|(_, word)| is_own(word));
        own.fold(0, |set, (place, _)| set | 1 << place)
    }
}

/// The signs that a text shows.
pub(super) struct Signs {
    words: SignWords,
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

    /// Whether a sign is shown that has these words.
    pub(super) fn show(&self, sign: PatternSign, words: SignWords) -> bool {
        match sign {
            PatternSign::Words(_) => self.words & words != 0,
            PatternSign::Clock => self.clock,
            PatternSign::LongNumber => self.decimal,
            PatternSign::LongHex => self.hex,
        }
    }
}

/// Whether a row of bytes of a kind has this length. Such a row includes a byte at a multiple of the length.
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
        assert!(SIGN_WORDS.len() <= SignWords::BITS as usize);
    }

    proptest! {
        #[test]
        fn each_sign_is_found_anywhere(
            text in "(nonce|CSRF|_token|\\.Js|sid|Session|session_id|<meta|PAGE|/\\(s\\(|12|:|[0-9]{8}|abcdef|é|[a-z<. ]){0,12}"
        ) {
            let signs = Signs::of(&text);
            let small = text.to_ascii_lowercase();
            let row = |length, kind: fn(char) -> bool| small.split(|letter| !kind(letter)).any(|row| row.len() >= length);
            for pattern in NOISE_RULES.iter().flat_map(|rule| rule.patterns) {
                let shown = match pattern.sign {
                    PatternSign::Words(words) => words.iter().any(|word| small.contains(word)),
                    PatternSign::Clock => small.as_bytes().windows(3).any(|three| {
                        three[1] == b':' && three[0].is_ascii_digit() && three[2].is_ascii_digit()
                    }),
                    PatternSign::LongNumber => row(9, |letter| letter.is_ascii_digit()),
                    PatternSign::LongHex => row(16, |letter| letter.is_ascii_hexdigit()),
                };
                prop_assert_eq!(signs.show(pattern.sign, pattern.sign.word_set()), shown, "{:?}", pattern.sign);
            }
        }
    }
}
