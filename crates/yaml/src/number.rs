//! Numbers as Python writes them.
//!
//! An integer may be longer than any machine word. One that is spelled in another base is converted only up to
//! [`MAX_INTEGER_DIGITS`] digits: beyond that the cost would grow with the square, and the caller keeps it as it is.

/// More digits are not converted from one base to another.
const MAX_INTEGER_DIGITS: usize = 4300;

/// The decimal digits of an integer that was spelled by the rules of YAML 1.1.
pub(super) fn integer(word: &str) -> Option<String> {
    let digits: String = word.chars().filter(|letter| *letter != '_').collect();
    let (negative, digits) = match digits.strip_prefix(['-', '+']) {
        Some(rest) => (digits.starts_with('-'), rest),
        None => (false, digits.as_str()),
    };
    let size = unsigned(digits)?;
    Some(if negative && size != "0" { format!("-{size}") } else { size })
}

fn unsigned(digits: &str) -> Option<String> {
    if let Some(rest) = digits.strip_prefix("0b") {
        return in_base(rest, 2);
    }
    if let Some(rest) = digits.strip_prefix("0x") {
        return in_base(rest, 16);
    }
    if digits.contains(':') {
        return sixtieths(digits);
    }
    match digits.strip_prefix('0') {
        Some("") => Some("0".to_owned()),
        Some(rest) => in_base(rest, 8),
        None => Some(digits.to_owned()),
    }
}

fn in_base(digits: &str, base: u32) -> Option<String> {
    if digits.is_empty() || digits.len() > MAX_INTEGER_DIGITS {
        return None;
    }
    let mut number = Decimal::default();
    for letter in digits.chars() {
        number.multiply_and_add(base, letter.to_digit(base)?);
    }
    Some(number.to_string())
}

fn sixtieths(digits: &str) -> Option<String> {
    if digits.len() > MAX_INTEGER_DIGITS {
        return None;
    }
    let mut parts = digits.split(':');
    let mut number = Decimal::default();
    for letter in parts.next()?.chars() {
        number.multiply_and_add(10, letter.to_digit(10)?);
    }
    for part in parts {
        number.multiply_and_add(60, part.parse().ok()?);
    }
    Some(number.to_string())
}

/// A number in groups of nine decimal digits, the least first.
#[derive(Default)]
struct Decimal(Vec<u32>);

impl Decimal {
    const DIGIT_GROUP: u64 = 1_000_000_000;

    fn multiply_and_add(&mut self, factor: u32, more: u32) {
        let mut carry = u64::from(more);
        for group in &mut self.0 {
            let sum = u64::from(*group) * u64::from(factor) + carry;
            *group = (sum % Self::DIGIT_GROUP) as u32;
            carry = sum / Self::DIGIT_GROUP;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut groups = self.0.iter().rev();
        write!(formatter, "{}", groups.next().copied().unwrap_or(0))?;
        groups.try_for_each(|group| write!(formatter, "{group:09}"))
    }
}

/// How Python writes the number that was spelled so.
pub(super) fn float(word: &str) -> Option<String> {
    let lower: String = word.chars().filter(|letter| *letter != '_').collect::<String>().to_ascii_lowercase();
    let (sign, size) = match lower.strip_prefix(['-', '+']) {
        Some(rest) => (if lower.starts_with('-') { -1.0 } else { 1.0 }, rest),
        None => (1.0, lower.as_str()),
    };
    let size = match size {
        ".inf" => f64::INFINITY,
        ".nan" => f64::NAN,
        _ if size.contains(':') => {
            // From the last part on, as Python adds them: floating-point sums depend on their order.
            let mut sum = 0.0;
            let mut worth = 1.0;
            for part in size.rsplit(':') {
                sum += part.parse::<f64>().ok()? * worth;
                worth *= 60.0;
            }
            sum
        }
        _ => size.parse::<f64>().ok()?,
    };
    Some(written(sign * size))
}

/// How PyYAML writes `number`.
pub(super) fn written(number: f64) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').expect("that format has an exponent");
    let exponent: i32 = exponent.parse().expect("and it is a small number");
    if (-4..16).contains(&exponent) {
        let plain = format!("{number}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{point}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_base() {
        for (word, wanted) in [
            ("0x10", "16"),
            ("+1_000", "1000"),
            ("-0", "0"),
            ("0777", "511"),
            ("-0b101", "-5"),
            ("1:30", "90"),
            ("190:20:30", "685230"),
            ("0xFFFFFFFFFFFFFFFFFFFFFFFF", "79228162514264337593543950335"),
            ("0x0", "0"),
            ("12345678901234567890123", "12345678901234567890123"),
        ] {
            assert_eq!(integer(word).as_deref(), Some(wanted), "{word}");
        }
        assert_eq!(integer("0x_"), None);
        assert_eq!(integer(&format!("0x{}", "f".repeat(5000))), None);
    }

    #[test]
    fn floats_as_python_writes_them() {
        for (word, wanted) in [
            ("1.5", "1.5"),
            ("1.", "1.0"),
            ("-0.0", "-0.0"),
            ("1_0.0_5", "10.05"),
            ("1.0e+16", "1.0e+16"),
            ("1.0e+15", "1000000000000000.0"),
            ("1.5e-5", "1.5e-05"),
            ("0.0001", "0.0001"),
            ("1.0e+999", ".inf"),
            ("-.INF", "-.inf"),
            (".NaN", ".nan"),
            ("1:30.5", "90.5"),
        ] {
            assert_eq!(float(word).as_deref(), Some(wanted), "{word}");
        }
    }
}
