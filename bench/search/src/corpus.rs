//! Page texts of made-up words, whose frequencies follow Zipf's law.

/// The number of different words.
const WORD_COUNT: usize = 200_000;
/// The number of words of a title.
const TITLE_WORDS: usize = 6;

/// Numbers that look random and are the same in each run (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Words with their frequencies.
pub struct Vocabulary {
    words: Vec<String>,
    /// For each word, the sum of the frequencies up to it.
    sums: Vec<f64>,
}

impl Vocabulary {
    pub fn new() -> Self {
        let mut sum = 0.0;
        let sums = (1..=WORD_COUNT).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        Self { sums: sums.collect(), words: (0..WORD_COUNT).map(word).collect() }
    }

    /// A word, as often as its frequency says.
    pub fn draw(&self, random: &mut Random) -> u32 {
        let at = (random.next() >> 11) as f64 / (1u64 << 53) as f64 * self.sums[WORD_COUNT - 1];
        self.sums.partition_point(|end| *end < at).min(WORD_COUNT - 1) as u32
    }

    pub fn text(&self, words: &[u32]) -> String {
        let words: Vec<&str> = words.iter().map(|word| self.words[*word as usize].as_str()).collect();
        words.join(" ")
    }
}

/// The pages. Their words are numbers; text is made on demand.
pub struct Corpus {
    pages: Vec<Vec<u32>>,
    vocabulary: Vocabulary,
}

impl Corpus {
    pub fn new(pages: usize) -> Self {
        let (vocabulary, mut random) = (Vocabulary::new(), Random::new(7));
        let mut make_page = || {
            let length = TITLE_WORDS + 100 + random.below(601);
            (0..length).map(|_| vocabulary.draw(&mut random)).collect()
        };
        Self { pages: (0..pages).map(|_| make_page()).collect(), vocabulary }
    }

    pub fn len(&self) -> usize {
        self.pages.len()
    }

    pub fn title(&self, page: usize) -> String {
        self.vocabulary.text(&self.pages[page][..TITLE_WORDS])
    }

    pub fn body(&self, page: usize) -> String {
        self.vocabulary.text(&self.pages[page][TITLE_WORDS..])
    }

    pub fn bytes(&self) -> usize {
        (0..self.len()).map(|page| self.title(page).len() + self.body(page).len()).sum()
    }

    /// Queries by kind: words with whether they are a phrase.
    pub fn queries(&self, count: usize) -> Vec<(&'static str, Vec<(Vec<String>, bool)>)> {
        let mut random = Random::new(11);
        let mut from_page = |words: usize, phrase: bool| -> Vec<(Vec<String>, bool)> {
            (0..count)
                .map(|_| {
                    let page = &self.pages[random.below(self.pages.len())];
                    let start = random.below(page.len() - TITLE_WORDS - words) + TITLE_WORDS;
                    let pick = |nth: usize| match phrase {
                        true => page[start + nth],
                        false => page[TITLE_WORDS + (start * (nth + 7) * 31) % (page.len() - TITLE_WORDS)],
                    };
                    ((0..words).map(|nth| self.vocabulary.text(&[pick(nth)])).collect(), phrase)
                })
                .collect()
        };
        let one = from_page(1, false);
        let three = from_page(3, false);
        let phrase = from_page(5, true);
        let common = (0..count).map(|n| (vec![self.vocabulary.text(&[n as u32 % 20])], false)).collect();
        vec![
            ("one word", one),
            ("three words", three),
            ("phrase of five", phrase),
            ("the 20 commonest", common),
        ]
    }
}

/// A pronounceable word for a number.
fn word(number: usize) -> String {
    const CONSONANTS: &[u8] = b"bdfgklmnprstvz";
    const VOWELS: &[u8] = b"aeiou";
    let mut rest = number + 1;
    let mut text = String::new();
    while rest > 0 {
        text.push(CONSONANTS[rest % CONSONANTS.len()] as char);
        rest /= CONSONANTS.len();
        text.push(VOWELS[rest % VOWELS.len()] as char);
        rest /= VOWELS.len();
    }
    text
}
