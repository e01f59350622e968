//! Dates and times as YAML 1.1 reads and Python writes them.
//!
//! No calendar arithmetic is needed: a time keeps its offset. A date that no calendar has is left as it is.

/// The parts of a timestamp, as they stand in the text.
pub(super) struct Parts<'a> {
    year: &'a [u8],
    month: &'a [u8],
    day: &'a [u8],
    time: Option<Time<'a>>,
}

struct Time<'a> {
    hour: &'a [u8],
    minute: &'a [u8],
    second: &'a [u8],
    fraction: &'a [u8],
    offset: Option<Offset<'a>>,
}

enum Offset<'a> {
    Zulu,
    Signed { sign: u8, hours: &'a [u8], minutes: &'a [u8] },
}

/// Takes parts from the front of what is left.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn digits(&mut self, least: usize, most: usize) -> Option<&'a [u8]> {
        let length = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if length < least {
            return None;
        }
        let (found, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(found)
    }

    fn take(&mut self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !wanted(*first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self, wanted: u8) -> Option<u8> {
        self.take(|byte| byte == wanted)
    }

    fn blanks(&mut self) -> usize {
        std::iter::from_fn(|| self.take(|byte| matches!(byte, b' ' | b'\t'))).count()
    }
}

impl<'a> Parts<'a> {
    /// The parts, if `bytes` is a timestamp as a whole.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut left = Cursor(bytes);
        let year = left.digits(4, 4)?;
        left.byte(b'-')?;
        let month = left.digits(1, 2)?;
        left.byte(b'-')?;
        let day = left.digits(1, 2)?;
        if left.0.is_empty() {
            // A date alone has two digits each; with a time one is enough.
            return (month.len() == 2 && day.len() == 2).then_some(Self { year, month, day, time: None });
        }
        let time = Some(Time::read(&mut left)?);
        left.0.is_empty().then_some(Self { year, month, day, time })
    }
}

impl<'a> Time<'a> {
    fn read(left: &mut Cursor<'a>) -> Option<Self> {
        if left.take(|byte| matches!(byte, b'T' | b't')).is_none() && left.blanks() == 0 {
            return None;
        }
        let hour = left.digits(1, 2)?;
        left.byte(b':')?;
        let minute = left.digits(2, 2)?;
        left.byte(b':')?;
        let second = left.digits(2, 2)?;
        let mut fraction: &[u8] = b"";
        if left.byte(b'.').is_some() {
            fraction = left.digits(0, usize::MAX)?;
        }
        let blanks = left.blanks();
        let offset = Offset::read(left);
        // Blanks belong to the offset behind them.
        (blanks == 0 || offset.is_some()).then_some(Self { hour, minute, second, fraction, offset })
    }
}

impl<'a> Offset<'a> {
    fn read(left: &mut Cursor<'a>) -> Option<Self> {
        if left.byte(b'Z').is_some() {
            return Some(Self::Zulu);
        }
        let sign = left.take(|byte| matches!(byte, b'+' | b'-'))?;
        let hours = left.digits(1, 2)?;
        let mut minutes: &[u8] = b"";
        if left.byte(b':').is_some() {
            minutes = left.digits(2, 2)?;
        }
        Some(Self::Signed { sign, hours, minutes })
    }

    fn written(&self) -> Option<String> {
        let Self::Signed { sign, hours, minutes } = self else { return Some("+00:00".to_owned()) };
        let total = number(hours) * 60 + number(minutes);
        let sign = if *sign == b'-' && total > 0 { '-' } else { '+' };
        (total < 24 * 60).then(|| format!("{sign}{:02}:{:02}", total / 60, total % 60))
    }
}

/// At most a few digits, so it fits.
fn number(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
}

/// How Python writes the timestamp; nothing if there is no such day or time.
pub(super) fn canonical(word: &str) -> Option<String> {
    let parts = Parts::read(word.as_bytes())?;
    let (year, month, day) = (number(parts.year), number(parts.month), number(parts.day));
    if year == 0 || day == 0 || day > days(year, month)? {
        return None;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    let Some(time) = parts.time else { return Some(date) };
    let (hour, minute, second) = (number(time.hour), number(time.minute), number(time.second));
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut written = format!("{date} {hour:02}:{minute:02}:{second:02}");
    let fraction = &time.fraction[..time.fraction.len().min(6)];
    let micros = number(fraction) * 10_u32.pow(6 - fraction.len() as u32);
    if micros > 0 {
        written.push_str(&format!(".{micros:06}"));
    }
    if let Some(offset) = time.offset {
        written.push_str(&offset.written()?);
    }
    Some(written)
}

fn days(year: u32, month: u32) -> Option<u32> {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 => Some(if leap { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_one_way() {
        for (word, wanted) in [
            ("2020-01-02", "2020-01-02"),
            ("2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.100000-05:00"),
            ("2001-12-14 21:59:43.10 -5", "2001-12-14 21:59:43.100000-05:00"),
            ("2001-12-15 2:59:43.10", "2001-12-15 02:59:43.100000"),
            ("2001-12-14T21:59:43Z", "2001-12-14 21:59:43+00:00"),
            ("2020-02-29 00:00:00.0000001-0:00", "2020-02-29 00:00:00+00:00"),
        ] {
            assert_eq!(canonical(word).as_deref(), Some(wanted), "{word}");
        }
    }

    #[test]
    fn days_that_no_calendar_has_are_left_alone() {
        for word in
            ["2021-02-29", "2020-13-01", "0000-01-01", "2020-01-01 24:00:00", "2020-01-01 00:00:00+24"]
        {
            assert_eq!(canonical(word), None, "{word}");
        }
    }
}
