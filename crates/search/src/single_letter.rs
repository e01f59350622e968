//! Scripts that are written without spaces between words.

/// Whether a letter is a word of its own, because its script has no spaces between words: Chinese
/// and Japanese characters, Korean syllables, Thai, Lao, Tibetan, Burmese and Khmer letters. Korean
/// has spaces, but its particles are written with the word before them.
pub(crate) fn is_single_letter_word(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e00..=0x0fff | 0x1000..=0x109f | 0x1780..=0x17ff
        | 0x2e80..=0x2fdf | 0x3005..=0x3007 | 0x3040..=0x312f | 0x31a0..=0x31bf | 0x31f0..=0x31ff
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7a3 | 0xf900..=0xfaff
        | 0x20000..=0x3ffff)
}

/// Whether a word is one such letter.
pub(crate) fn is_single_letter(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(is_single_letter_word) && letters.next().is_none()
}
