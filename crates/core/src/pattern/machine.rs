//! A bit-parallel automaton that follows all possible matches at once.
//!
//! State `i` means that the first `i` elements have been matched. The set of states that are
//! possible at some place in the input is a row of bits, and reading a byte changes all of them
//! together:
//!
//! ```text
//!   states' = (states & moves[byte]) << 1  |  states & stays[byte]
//! ```
//!
//! where `moves` holds the elements that the byte completes and `stays` the repeating ones that it
//! prolongs. After each byte, states at a repeating element also count as past it. Bytes that no
//! element tells apart share a row, so that the tables stay small. A regular-expression engine
//! would do the same with more to carry.

/// A class of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternClass {
    Byte(u8),
    Digit,
    Letter,
    /// Not one of `/ ? = &`.
    InSegment,
    /// Not a line end.
    NotLineEnd,
}

impl PatternClass {
    const fn has(self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => byte == own,
            Self::Digit => byte.is_ascii_digit(),
            Self::Letter => byte.is_ascii_alphabetic(),
            Self::InSegment => !matches!(byte, b'/' | b'?' | b'=' | b'&'),
            Self::NotLineEnd => byte != b'\n',
        }
    }
}

/// One element of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// Exactly one byte of the class.
    One(PatternClass),
    /// Any number of bytes of the class, even none.
    AnyNumber(PatternClass),
}

/// A compiled list of elements.
#[derive(Clone)]
pub(super) struct Machine {
    /// The row of each byte.
    rows: Box<[u8; 256]>,
    /// For each row, `words` words of elements that one of its bytes completes.
    moves: Vec<u64>,
    /// For each row, `words` words of repeating elements that one of its bytes prolongs.
    stays: Vec<u64>,
    /// The repeating elements.
    repeating: Vec<u64>,
    /// The maximum number of consecutive repeating elements: the number of times that states must
    /// be carried past them.
    longest_run: usize,
    words: usize,
    elements: usize,
    /// Whether the last element is any text without a line end.
    open_ended: bool,
}

impl Machine {
    pub(super) fn new(elements: &[Element]) -> Self {
        // One more state than elements: all of them matched.
        let words = elements.len() / 64 + 1;
        let (rows, representatives) = rows(elements);
        let bits = |wanted: &dyn Fn(&Element) -> bool| bits(elements, words, wanted);
        let moves = |&byte: &u8| bits(&|element| matches!(element, Element::One(class) if class.has(byte)));
        let stays =
            |&byte: &u8| bits(&|element| matches!(element, Element::AnyNumber(class) if class.has(byte)));
        let repeats = |element: &Element| matches!(element, Element::AnyNumber(_));
        let runs = elements.split(|element| !repeats(element)).map(<[Element]>::len);
        Self {
            rows,
            moves: representatives.iter().flat_map(moves).collect(),
            stays: representatives.iter().flat_map(stays).collect(),
            repeating: bits(&repeats),
            longest_run: runs.max().unwrap_or(0),
            words,
            elements: elements.len(),
            open_ended: elements.last() == Some(&Element::AnyNumber(PatternClass::NotLineEnd)),
        }
    }

    /// Whether the elements match the whole input.
    pub(super) fn accepts(&self, input: &[u8]) -> bool {
        if self.words == 1 { self.accepts_in_one_word(input) } else { self.accepts_in_many_words(input) }
    }

    /// The usual case, with all states in one register.
    fn accepts_in_one_word(&self, input: &[u8]) -> bool {
        let last = 1 << self.elements;
        let repeating = self.repeating[0];
        let past_repeating = |mut states: u64| {
            for _ in 0..self.longest_run {
                states |= (states & repeating) << 1;
            }
            states
        };
        // At an open end, only a line end can still prevent the match; if there is none, the match
        // is certain.
        let mut open_end = if self.open_ended { last >> 1 } else { 0 };
        let mut states = past_repeating(1);
        for (at, &byte) in input.iter().enumerate() {
            if states & open_end != 0 {
                if memchr::memchr(b'\n', &input[at..]).is_none() {
                    return true;
                }
                open_end = 0;
            }
            let row = usize::from(self.rows[usize::from(byte)]);
            states = past_repeating((states & self.moves[row]) << 1 | states & self.stays[row]);
            if states == 0 {
                return false;
            }
        }
        states & last != 0
    }

    /// The same for patterns of more than 63 elements.
    fn accepts_in_many_words(&self, input: &[u8]) -> bool {
        let mut states = vec![0; self.words];
        let mut next = vec![0; self.words];
        states[0] = 1;
        self.carry_past_repeating(&mut states);
        for &byte in input {
            let row = usize::from(self.rows[usize::from(byte)]) * self.words;
            let mut carried = 0;
            for (word, next) in next.iter_mut().enumerate() {
                let moved = states[word] & self.moves[row + word];
                *next = moved << 1 | carried | states[word] & self.stays[row + word];
                carried = moved >> 63;
            }
            std::mem::swap(&mut states, &mut next);
            self.carry_past_repeating(&mut states);
            if states.iter().all(|&word| word == 0) {
                return false;
            }
        }
        states[self.elements / 64] >> (self.elements % 64) & 1 != 0
    }

    fn carry_past_repeating(&self, states: &mut [u64]) {
        for _ in 0..self.longest_run {
            let mut carried = 0;
            for (states, repeating) in states.iter_mut().zip(&self.repeating) {
                let moved = *states & repeating;
                *states |= moved << 1 | carried;
                carried = moved >> 63;
            }
        }
    }
}

/// The elements that `wanted` accepts, as bits.
fn bits(elements: &[Element], words: usize, wanted: &dyn Fn(&Element) -> bool) -> Vec<u64> {
    let mut bits = vec![0; words];
    for (index, _) in elements.iter().enumerate().filter(|(_, element)| wanted(element)) {
        bits[index / 64] |= 1 << (index % 64);
    }
    bits
}

/// The row of each byte, and one byte of each row. Two bytes share a row if no class of the
/// elements tells them apart. Every literal byte has its own row; the others are grouped by their
/// classes.
fn rows(elements: &[Element]) -> (Box<[u8; 256]>, Vec<u8>) {
    let mut literal = [false; 256];
    for element in elements {
        if let Element::One(PatternClass::Byte(byte)) = element {
            literal[usize::from(*byte)] = true;
        }
    }
    let kind = |byte: u8| {
        let own = literal[usize::from(byte)].then_some(byte);
        let classes =
            [PatternClass::Digit, PatternClass::Letter, PatternClass::InSegment, PatternClass::NotLineEnd];
        (own, classes.map(|class| class.has(byte)))
    };
    let mut rows = Box::new([0; 256]);
    let mut representatives: Vec<u8> = Vec::new();
    for byte in 0..=255 {
        let known = representatives.iter().position(|&other| kind(other) == kind(byte));
        let row = known.unwrap_or_else(|| {
            representatives.push(byte);
            representatives.len() - 1
        });
        rows[usize::from(byte)] = row as u8;
    }
    (rows, representatives)
}
