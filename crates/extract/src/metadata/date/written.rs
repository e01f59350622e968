//! Dates as people and machines write them.
//!
//! A date has a day, a month and a year: "March 2024" is no date. A number of two digits is never a
//! year, and where day and month could be exchanged, the language of the page decides.

use super::month::month_number;
use chrono::NaiveDate;

/// Maximum length of a text in which dates are searched.
const MAX_DATE_TEXT_BYTES: usize = 1024;

/// The order of day and month where both are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayOrder {
    /// 31/12/2024, as in most of the world.
    DayFirst,
    /// 12/31/2024, as in the United States.
    MonthFirst,
}

/// A date in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenDate {
    /// The day.
    pub day: NaiveDate,
    /// The offset of its first byte.
    pub start: usize,
    /// The offset behind its last byte.
    pub end: usize,
}

/// The first date in a text.
pub fn first_date(text: &str, order: DayOrder) -> Option<WrittenDate> {
    dates(text, order).next()
}

/// All dates in a text, in order. They do not overlap. Only the beginning of a long text is read.
pub fn dates(text: &str, order: DayOrder) -> impl Iterator<Item = WrittenDate> {
    let tokens = tokens(&text[..text.floor_char_boundary(MAX_DATE_TEXT_BYTES.min(text.len()))]);
    let mut next = 0;
    std::iter::from_fn(move || {
        while next < tokens.len() {
            let start = next;
            next += 1;
            if let Some((day, length)) = date_at(&tokens[start..], order) {
                next = start + length;
                return Some(WrittenDate { day, start: tokens[start].start, end: tokens[next - 1].end });
            }
        }
        None
    })
}

/// A date in a value for machines: an ISO 8601 date, eight digits, seconds or milliseconds since
/// 1970, or any date that a person would write.
pub fn machine_date(value: &str, order: DayOrder) -> Option<NaiveDate> {
    let value = value.trim();
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let is_alone = digits == value.len();
    match digits {
        8 if !value[8..].starts_with(['-', '/', '.']) => {
            let number: u32 = value[..8].parse().ok()?;
            calendar_day(number / 10_000, number / 100 % 100, number % 100)
        }
        14 if is_alone => machine_date(&value[..8], order),
        10 if is_alone => seconds_day(value.parse().ok()?),
        13 if is_alone => seconds_day(value.parse::<i64>().ok()? / 1000),
        _ => first_date(value, order).map(|date| date.day),
    }
}

fn seconds_day(seconds: i64) -> Option<NaiveDate> {
    chrono::DateTime::from_timestamp(seconds, 0).map(|instant| instant.date_naive())
}

/// A day of a year of four digits.
fn calendar_day(year: u32, month: u32, day: u32) -> Option<NaiveDate> {
    let year = i32::try_from(year).ok().filter(|year| (1000..10_000).contains(year))?;
    NaiveDate::from_ymd_opt(year, month, day)
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    /// Digits: their value, and how many there are.
    Number(u32, usize),
    /// The name of a month.
    Month(u32),
    /// A word that stands between the parts of a date, or marks a part: "of", "de", "年".
    Joint,
    /// A word before the number of a month: "tháng".
    MonthMark,
    /// An ordinal ending: "st", "er", "º".
    Ordinal,
    /// Another word.
    Word,
    /// A punctuation character other than those that are skipped.
    Mark(char),
}

#[derive(Debug, Clone, Copy)]
struct Token {
    kind: TokenKind,
    start: usize,
    end: usize,
    /// Whether white space stands before it.
    is_spaced: bool,
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut is_spaced = false;
    while let Some(letter) = rest.chars().next() {
        let start = text.len() - rest.len();
        let length = if letter.is_ascii_digit() {
            rest.bytes().take_while(u8::is_ascii_digit).count()
        } else if is_date_ideograph(letter) {
            letter.len_utf8()
        } else if letter.is_alphabetic() {
            rest.find(|letter: char| !is_in_word(letter)).unwrap_or(rest.len()).max(letter.len_utf8())
        } else {
            letter.len_utf8()
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        if letter.is_whitespace() {
            is_spaced = true;
            continue;
        }
        tokens.push(Token { kind: kind_of(piece, letter), start, end: start + length, is_spaced });
        is_spaced = false;
    }
    tokens
}

/// Letters that mark year, month and day in Chinese, Japanese and Korean.
fn is_date_ideograph(letter: char) -> bool {
    matches!(letter, '年' | '月' | '日' | '号' | '號' | '년' | '월' | '일')
}

/// Whether a letter continues a word: Indic vowel signs are no letters, but part of the word.
fn is_in_word(letter: char) -> bool {
    !is_date_ideograph(letter)
        && (letter.is_alphabetic() || matches!(letter, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{97f}'))
}

fn kind_of(piece: &str, first: char) -> TokenKind {
    if first.is_ascii_digit() {
        // A longer number is no part of a date.
        let value = if piece.len() <= 4 { piece.parse().unwrap_or(0) } else { 0 };
        return TokenKind::Number(value, piece.len());
    }
    if !first.is_alphabetic() {
        return if first == 'º' || first == 'ª' { TokenKind::Ordinal } else { TokenKind::Mark(first) };
    }
    let is = |words: &[&str]| words.iter().any(|word| piece.eq_ignore_ascii_case(word));
    if is(&["of", "de", "del", "d", "al", "năm", "den", "the"]) || is_date_ideograph(first) {
        TokenKind::Joint
    } else if is(&["tháng"]) {
        TokenKind::MonthMark
    } else if is(&["st", "nd", "rd", "th", "er", "ère", "e", "ой", "го", "º", "ª"]) {
        TokenKind::Ordinal
    } else {
        month_number(piece).map_or(TokenKind::Word, TokenKind::Month)
    }
}

/// The date that begins with the first token, and the number of its tokens.
fn date_at(tokens: &[Token], order: DayOrder) -> Option<(NaiveDate, usize)> {
    match tokens.first()?.kind {
        TokenKind::Number(_, 4) => numeric_year_first(tokens).or_else(|| year_and_month_name(tokens)),
        TokenKind::Number(_, 1 | 2) => numeric_year_last(tokens, order)
            .or_else(|| day_and_month_name(tokens))
            .or_else(|| vietnamese(tokens)),
        TokenKind::Month(_) => month_name_and_day(tokens),
        _ => None,
    }
}

/// Reads tokens in sequence.
struct TokenCursor<'t> {
    tokens: &'t [Token],
    next: usize,
}

impl<'t> TokenCursor<'t> {
    fn of(tokens: &'t [Token]) -> Self {
        Self { tokens, next: 0 }
    }

    fn kind(&self) -> Option<TokenKind> {
        self.tokens.get(self.next).map(|token| token.kind)
    }

    /// A number of one of these lengths.
    fn number(&mut self, lengths: std::ops::RangeInclusive<usize>) -> Option<u32> {
        let Some(TokenKind::Number(value, length)) = self.kind() else { return None };
        self.next += 1;
        lengths.contains(&length).then_some(value)
    }

    fn month(&mut self) -> Option<u32> {
        let Some(TokenKind::Month(month)) = self.kind() else { return None };
        self.next += 1;
        Some(month)
    }

    /// Skips tokens of these kinds, at most `most`.
    fn skip(&mut self, most: usize, is_skipped: impl Fn(TokenKind) -> bool) {
        let end = self.next + most;
        while self.next < end && self.kind().is_some_and(&is_skipped) {
            self.next += 1;
        }
    }

    /// Whether the next token continues a number, as in "2024-05-011" or "2024.05.01.7".
    fn is_joined_to_number(&self) -> bool {
        let touches = |at: usize| self.tokens.get(at).is_some_and(|token| !token.is_spaced);
        let is_number =
            |at: usize| matches!(self.tokens.get(at).map(|token| token.kind), Some(TokenKind::Number(..)));
        let is_mark = |at: usize| {
            matches!(self.tokens.get(at).map(|token| token.kind), Some(TokenKind::Mark('.' | '/' | '-')))
        };
        touches(self.next) && is_mark(self.next) && touches(self.next + 1) && is_number(self.next + 1)
    }
}

/// Punctuation and words between the parts of a written date.
fn is_between(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Joint
            | TokenKind::Ordinal
            | TokenKind::Mark(',' | '.' | '-' | '–' | '/' | '،' | '\'' | '’')
    )
}

/// 2024-03-01, 2024/3/1, 2024.03.01, 2024年3月1日, 2024년 3월 1일.
fn numeric_year_first(tokens: &[Token]) -> Option<(NaiveDate, usize)> {
    let mut cursor = TokenCursor::of(tokens);
    let year = cursor.number(4..=4)?;
    let joint = cursor.kind()?;
    let is_joint = matches!(joint, TokenKind::Mark('-' | '/' | '.' | '–') | TokenKind::Joint);
    cursor.next += 1;
    let month = cursor.number(1..=2).filter(|_| is_joint)?;
    let is_same = match joint {
        TokenKind::Mark('.') => matches!(cursor.kind(), Some(TokenKind::Mark('.'))),
        TokenKind::Mark(_) => cursor.kind() == Some(joint),
        _ => cursor.kind() == Some(TokenKind::Joint),
    };
    cursor.next += 1;
    let day = cursor.number(1..=2).filter(|_| is_same)?;
    if joint == TokenKind::Joint {
        cursor.skip(1, |kind| kind == TokenKind::Joint);
    } else if cursor.is_joined_to_number() {
        return None;
    }
    Some((calendar_day(year, month, day)?, cursor.next))
}

/// 31/12/2024, 12/31/2024, 31.12.2024, 31-12-2024.
fn numeric_year_last(tokens: &[Token], order: DayOrder) -> Option<(NaiveDate, usize)> {
    let mut cursor = TokenCursor::of(tokens);
    let first = cursor.number(1..=2)?;
    let joint = cursor.kind()?;
    cursor.next += 1;
    let second = cursor.number(1..=2)?;
    let is_same = matches!(joint, TokenKind::Mark('-' | '/' | '.')) && cursor.kind() == Some(joint);
    cursor.next += 1;
    let year = cursor.number(4..=4).filter(|_| is_same)?;
    if cursor.is_joined_to_number() {
        return None;
    }
    let is_month_first =
        second > 12 || (order == DayOrder::MonthFirst && joint != TokenKind::Mark('.') && first <= 12);
    let (day, month) = if is_month_first { (second, first) } else { (first, second) };
    Some((calendar_day(year, month, day)?, cursor.next))
}

/// 1 March 2024, 1st of March, 2024, 1. März 2024, 1 de marzo de 2024, 1-Mar-2024.
fn day_and_month_name(tokens: &[Token]) -> Option<(NaiveDate, usize)> {
    let mut cursor = TokenCursor::of(tokens);
    let day = cursor.number(1..=2)?;
    cursor.skip(3, is_between);
    let month = cursor.month()?;
    cursor.skip(2, is_between);
    let year = cursor.number(4..=4)?;
    Some((calendar_day(year, month, day)?, cursor.next))
}

/// March 1, 2024; Mar. 1st 2024.
fn month_name_and_day(tokens: &[Token]) -> Option<(NaiveDate, usize)> {
    let mut cursor = TokenCursor::of(tokens);
    let month = cursor.month()?;
    cursor.skip(2, is_between);
    let day = cursor.number(1..=2)?;
    cursor.skip(2, is_between);
    let year = cursor.number(4..=4)?;
    Some((calendar_day(year, month, day)?, cursor.next))
}

/// 2024. március 1., 2024 March 1, 2024-Mar-01.
fn year_and_month_name(tokens: &[Token]) -> Option<(NaiveDate, usize)> {
    let mut cursor = TokenCursor::of(tokens);
    let year = cursor.number(4..=4)?;
    cursor.skip(2, is_between);
    let month = cursor.month()?;
    cursor.skip(2, is_between);
    let day = cursor.number(1..=2)?;
    // "2024 May 12 2023": the first number is not the year of this date.
    let is_year = matches!(cursor.kind(), Some(TokenKind::Number(_, 4)));
    Some((calendar_day(year, month, day).filter(|_| !is_year)?, cursor.next))
}

/// 1 tháng 3, 2024; 1 tháng 3 năm 2024.
fn vietnamese(tokens: &[Token]) -> Option<(NaiveDate, usize)> {
    let mut cursor = TokenCursor::of(tokens);
    let day = cursor.number(1..=2)?;
    let is_named = cursor.kind() == Some(TokenKind::MonthMark);
    cursor.next += 1;
    let month = cursor.number(1..=2).filter(|_| is_named)?;
    cursor.skip(1, is_between);
    let year = cursor.number(4..=4)?;
    Some((calendar_day(year, month, day)?, cursor.next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str) -> Option<String> {
        first_date(text, DayOrder::DayFirst).map(|date| date.day.to_string())
    }

    #[test]
    fn written_forms_of_many_languages() {
        for text in [
            "2024-03-01",
            "2024-03-01T23:59:00-05:00",
            "2024/3/1",
            "2024.03.01.",
            "2024年3月1日",
            "2024년 3월 1일",
            "1 March 2024",
            "1st of March, 2024",
            "Fri, 01 Mar 2024 10:00:00 GMT",
            "Fri Mar 01, 2024 3:12 pm",
            "March 1, 2024",
            "Mar. 1st, 2024",
            "Mar 1 2024",
            "1-Mar-2024",
            "1. März 2024",
            "1 de marzo de 2024",
            "1er mars 2024",
            "1º de março de 2024",
            "1 marzo 2024",
            "1 maart 2024",
            "1 marca 2024",
            "1 марта 2024 г.",
            "1 березня 2024",
            "1. března 2024",
            "2024. március 1.",
            "1 martie 2024",
            "1. maaliskuuta 2024",
            "1 Mart 2024",
            "1 Maret 2024",
            "1 Μαρτίου 2024",
            "1 tháng 3, 2024",
            "1 tháng 3 năm 2024",
            "1 مارس 2024",
            "1 मार्च 2024",
            "01.03.2024",
            "01-03-2024",
            "den 1 mars 2024",
            "Posted on 1 March 2024 by Ann",
        ] {
            assert_eq!(found(text).as_deref(), Some("2024-03-01"), "{text}");
        }
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "March 2024",
            "2024",
            "call 555-12-2024-77",
            "version 2024.03.01.7",
            "31 February 2024",
            "2024-13-40",
            "192.168.10.2024",
            "may 5 people",
            "99 March 2024",
            "2024-03",
            "1/2",
            "0000-00-00",
            "5 of 10 2024 items",
            "１ March 2024",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn the_language_orders_day_and_month() {
        let day = |text, order| first_date(text, order).map(|date| date.day.to_string());
        assert_eq!(day("03/01/2024", DayOrder::MonthFirst).as_deref(), Some("2024-03-01"));
        assert_eq!(day("03/01/2024", DayOrder::DayFirst).as_deref(), Some("2024-01-03"));
        assert_eq!(day("13/01/2024", DayOrder::MonthFirst).as_deref(), Some("2024-01-13"));
        assert_eq!(day("01/13/2024", DayOrder::DayFirst).as_deref(), Some("2024-01-13"));
        assert_eq!(day("03.01.2024", DayOrder::MonthFirst).as_deref(), Some("2024-01-03"));
    }

    #[test]
    fn values_for_machines() {
        let day = |value| machine_date(value, DayOrder::MonthFirst).map(|day| day.to_string());
        for value in
            ["20240301", "20240301T101112Z", "20240301101112", "1709290000", "1709290000000", "2024-03-01"]
        {
            assert_eq!(day(value).as_deref(), Some("2024-03-01"), "{value}");
        }
        assert_eq!(day("99999999"), None);
        assert_eq!(day(""), None);
        assert_eq!(day("9999999999999999999999"), None);
    }

    #[test]
    fn all_dates_with_their_places() {
        let text = "Updated: May 2, 2024 (first 1 May 2023)";
        let found: Vec<&str> =
            dates(text, DayOrder::DayFirst).map(|date| &text[date.start..date.end]).collect();
        assert_eq!(found, ["May 2, 2024", "1 May 2023"]);
    }

    proptest! {
        #[test]
        fn every_day_is_found_in_every_form(days in 0_i64..20_000) {
            let day = NaiveDate::from_ymd_opt(1995, 1, 1).unwrap() + chrono::Duration::days(days);
            for form in ["%Y-%m-%d", "%B %-d, %Y", "%-d %b %Y", "%a, %d %b %Y 10:00", "%d.%m.%Y", "%Y年%-m月%-d日"] {
                let text = format!("on {} at 10:30", day.format(form));
                prop_assert_eq!(first_date(&text, DayOrder::DayFirst).map(|date| date.day), Some(day), "{}", text);
            }
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".{0,80}") {
            for date in dates(&text, DayOrder::MonthFirst) {
                prop_assert!(text.get(date.start..date.end).is_some());
            }
            machine_date(&text, DayOrder::MonthFirst);
        }
    }
}
