//! Links in scripts, which are neither run nor parsed: addresses in quotes, and targets of click
//! handlers.

use std::borrow::Cow;

/// The absolute addresses in quotes in a script, with their offsets.
pub(super) fn addresses(script: &str, longest: usize) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += script[at..].find(['"', '\''])? + 1;
            if let Some(address) = address(script, at, longest) {
                let start = at;
                at += address.len();
                return Some((start, unescape(address)));
            }
        }
    })
}

/// The address that begins here, up to the closing quote.
fn address(script: &str, start: usize, longest: usize) -> Option<&str> {
    let quote = script.as_bytes()[start - 1];
    let text = &script[start..];
    let rest = text.strip_prefix("https:").or_else(|| text.strip_prefix("http:")).unwrap_or(text);
    rest.strip_prefix("//").or_else(|| rest.strip_prefix("\\/\\/"))?;
    let window = &text.as_bytes()[..text.len().min(longest)];
    let length = window.iter().position(|byte| *byte == quote || *byte == b'\n')?;
    let address = &text[..length];
    (window[length] == quote && address.trim_end_matches(['/', '\\']).len() > 2).then_some(address)
}

/// Resolves the escapes that JSON writers use in addresses: `\/` and `\u0026`.
fn unescape(address: &str) -> Cow<'_, str> {
    if !address.contains('\\') {
        return Cow::Borrowed(address);
    }
    let mut plain = String::with_capacity(address.len());
    let mut rest = address;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some((character, length)) = hex_escape(rest) {
            plain.push(character);
            rest = &rest[length..];
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// `u0026` and `x26`, without their backslash.
fn hex_escape(text: &str) -> Option<(char, usize)> {
    let length = match text.as_bytes().first()? {
        b'u' => 4,
        b'x' => 2,
        _ => return None,
    };
    let digits = text.get(1..=length).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let number = u32::from_str_radix(digits, 16).ok()?;
    Some((char::from_u32(number)?, length + 1))
}

/// The target of a click handler that ends with an assignment as `location.href = 'there'`.
pub(super) fn click_target(handler: &str) -> Option<&str> {
    let handler = handler.trim().trim_end_matches(';').trim_end();
    let quote = handler.chars().next_back().filter(|quote| matches!(quote, '"' | '\''))?;
    let (before, target) = handler[..handler.len() - 1].rsplit_once(quote)?;
    let subject = before.trim_end().strip_suffix('=')?.trim_end();
    let leads = subject == "location" || subject.ends_with(".href") || subject.ends_with(".location");
    leads.then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(script: &str) -> Vec<String> {
        addresses(script, 100).map(|(_, address)| address.into_owned()).collect()
    }

    #[test]
    fn addresses_in_quotes() {
        assert_eq!(found(r#"a="https://h/x.js";b='//h/y'"#), ["https://h/x.js", "//h/y"]);
        assert_eq!(found(r#"a="https:\/\/h\/x?a\u0026b""#), ["https://h/x?a&b"]);
        assert_eq!(found(r#"a="//"; b="/rel"; c="http://'"; d="http:/x""#), ["http://'"]);
        assert_eq!(found("a=\"http://h\n\""), [""; 0]);
        assert_eq!(found(&format!("'http://{}'", "x".repeat(99))), [""; 0]);
    }

    #[test]
    fn clicks_that_lead_away() {
        assert_eq!(click_target("location.href='o'"), Some("o"));
        assert_eq!(click_target(" window.location = \"o\" ; "), Some("o"));
        assert_eq!(click_target("location='o'"), Some("o"));
        assert_eq!(click_target("window.open('o')"), None);
        assert_eq!(click_target("x='o'"), None);
        assert_eq!(click_target("'"), None);
    }

    proptest! {
        #[test]
        fn no_script_breaks_it(script in "[\"'/\\\\:htpsux026é\n]{0,60}") {
            found(&script);
            click_target(&script);
        }
    }
}
