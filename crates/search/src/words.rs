//! The words of a text, normalised: compatibility forms decomposed, lower case, diacritics removed.
//!
//! A word is a run of letters and digits of any script. In scripts without spaces each letter is a
//! word, so a sentence in them is a phrase.

use std::ops::Range;

use icu_normalizer::{DecomposingNormalizer, DecomposingNormalizerBorrowed};

use crate::single_letter::is_single_letter_word;

/// Maximum length of a normalised word. The rest of a longer one is ignored.
const MAX_WORD_BYTES: usize = 64;

/// Calls `each` with every word of a text and its byte range in the text.
pub fn each_word(text: &str, mut each: impl FnMut(&str, Range<usize>)) {
    let decomposer = DecomposingNormalizer::new_nfkd();
    let mut builder = WordBuilder::default();
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        if letter.is_ascii_alphanumeric() {
            builder.push(letter.to_ascii_lowercase(), at..end);
        } else if letter.is_ascii() {
            builder.finish(&mut each);
        } else {
            fold(&decomposer, letter, &mut |folded| builder.add(folded, at..end, &mut each));
        }
    }
    builder.finish(&mut each);
}

/// The words of a text.
pub fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, |word, _| words.push(word.to_owned()));
    words
}

/// The word that is being read.
#[derive(Default)]
struct WordBuilder {
    word: String,
    range: Range<usize>,
}

impl WordBuilder {
    fn add(&mut self, letter: char, range: Range<usize>, each: &mut impl FnMut(&str, Range<usize>)) {
        if is_ignored(letter) {
            return;
        }
        if !is_word_letter(letter) {
            return self.finish(each);
        }
        if is_single_letter_word(letter) {
            self.finish(each);
            return each(letter.encode_utf8(&mut [0; 4]), range);
        }
        self.push(letter, range);
    }

    fn push(&mut self, letter: char, range: Range<usize>) {
        if self.word.is_empty() {
            self.range.start = range.start;
        }
        self.range.end = range.end;
        if self.word.len() + letter.len_utf8() <= MAX_WORD_BYTES {
            self.word.push(letter);
        }
    }

    fn finish(&mut self, each: &mut impl FnMut(&str, Range<usize>)) {
        if !self.word.is_empty() {
            each(&self.word, self.range.clone());
            self.word.clear();
        }
    }
}

/// Calls `each` with the normalised letters of a letter that is not ASCII.
fn fold(decomposer: &DecomposingNormalizerBorrowed<'_>, letter: char, each: &mut impl FnMut(char)) {
    // Korean syllables stay whole.
    if is_single_letter_word(letter) && matches!(letter, '\u{ac00}'..='\u{d7a3}') {
        return each(letter);
    }
    for part in decomposer.normalize_iter(std::iter::once(letter)).flat_map(char::to_lowercase) {
        match part {
            'ß' => ['s', 's'].into_iter().for_each(&mut *each),
            'æ' => ['a', 'e'].into_iter().for_each(&mut *each),
            'œ' => ['o', 'e'].into_iter().for_each(&mut *each),
            'ø' => each('o'),
            'ł' => each('l'),
            'đ' => each('d'),
            'ħ' => each('h'),
            'ı' => each('i'),
            // The letter at the end of a Greek word.
            'ς' => each('σ'),
            part => each(part),
        }
    }
}

/// Whether a letter is skipped without ending a word: diacritics, points of Hebrew and Arabic, soft
/// hyphens and joiners.
fn is_ignored(letter: char) -> bool {
    matches!(u32::from(letter),
        0x00ad | 0x0300..=0x036f | 0x0591..=0x05c7 | 0x0610..=0x061a | 0x0640 | 0x064b..=0x065f | 0x0670
        | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x200b..=0x200d | 0x20d0..=0x20ff | 0x3099..=0x309a
        | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0xfeff)
}

/// Whether a letter is part of a word. Vowel signs of the scripts of India are.
fn is_word_letter(letter: char) -> bool {
    letter.is_alphanumeric()
        || (matches!(u32::from(letter), 0x0900..=0x0dff)
            && !matches!(letter, '\u{964}' | '\u{965}' | '\u{970}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_normalised() {
        for (text, words) in [
            ("Hello, World! 3.14", "hello world 3 14"),
            ("naïve Café ÅNGSTRÖM Straße Łódź œuvre", "naive cafe angstrom strasse lodz oeuvre"),
            ("cafe\u{301} co\u{ad}operate", "cafe cooperate"),
            ("ΟΔΟΣ οδός", "οδοσ οδοσ"),
            ("İstanbul ISPARTA", "istanbul isparta"),
            ("ﬁnally Ｆｕｌｌ ①", "finally full 1"),
            ("don't e-mail", "don t e mail"),
            ("हिन्दी में।", "हिन्दी में"),
            ("שָׁלוֹם", "שלום"),
            ("  … ", ""),
        ] {
            assert_eq!(words_of(text).join(" "), words, "{text}");
        }
    }

    #[test]
    fn letters_of_scripts_without_spaces_are_words() {
        assert_eq!(words_of("全文検索abc、한국어"), ["全", "文", "検", "索", "abc", "한", "국", "어"]);
        assert_eq!(words_of("ｶﾞｽ ガス").join(""), "カスカス");
    }

    proptest! {
        /// A query is normalised like the text, so normalising twice must change nothing.
        #[test]
        fn normalising_again_changes_nothing(text in "\\PC{0,30}") {
            let words = words_of(&text);
            prop_assert_eq!(words_of(&words.join(" ")), words);
        }

        #[test]
        fn ranges_are_in_order_and_in_the_text(text in "\\PC{0,30}") {
            let mut end = 0;
            each_word(&text, |_, range| {
                assert!(text.get(range.clone()).is_some_and(|part| !part.is_empty()));
                assert!(range.start >= end || range.end >= end);
                end = range.end;
            });
        }
    }
}
