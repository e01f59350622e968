//! JSON as Moku writes it: characters that have a meaning in HTML are escaped.

/// The same JSON, without `<`, `>`, `&` and the two line separators in its text.
pub fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len() + json.len() / 8);
    for letter in json.chars() {
        match letter {
            // JSON has none of these characters outside of strings, so each occurs within one.
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_html_could_mistake_is_escaped_and_means_the_same() {
        let json = serde_json::to_string("<a href=\"x?a&b\">\u{2028}\u{2029}é</a>").unwrap();
        let made = escaped(&json);
        assert_eq!(made, r#""\u003ca href=\"x?a\u0026b\"\u003e\u2028\u2029é\u003c/a\u003e""#);
        assert_eq!(
            serde_json::from_str::<String>(&made).unwrap(),
            serde_json::from_str::<String>(&json).unwrap()
        );
    }
}
