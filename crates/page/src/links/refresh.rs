//! `Refresh`, as a header or in `<meta http-equiv>`, parsed as in browsers.

/// The address in `5; url='/there'`. `None` if there is only a time: then the page reloads itself.
pub fn target(content: &str) -> Option<&str> {
    let content = content.trim_start_matches(is_space);
    let seconds = content.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    if seconds == 0 {
        return None;
    }
    let rest = content[seconds..].trim_start_matches(|c: char| is_space(c) || c == ';' || c == ',');
    let url = without_label(rest);
    let url = match url.chars().next() {
        Some(quote @ ('"' | '\'')) => url[1..].split(quote).next().unwrap_or(""),
        _ => url,
    };
    Some(url.trim_matches(is_space)).filter(|url| !url.is_empty())
}

/// The text behind `url =`, or the whole text without it.
fn without_label(text: &str) -> &str {
    let labelled = || {
        let label = text.get(..3).filter(|label| label.eq_ignore_ascii_case("url"))?;
        let rest = text[label.len()..].trim_start_matches(is_space).strip_prefix('=')?;
        Some(rest.trim_start_matches(is_space))
    };
    labelled().unwrap_or(text)
}

fn is_space(character: char) -> bool {
    character.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_the_ways_to_write_it() {
        assert_eq!(target("0;url=http://h/r"), Some("http://h/r"));
        assert_eq!(target(" 5.5 ; URL = 'r s' trailing"), Some("r s"));
        assert_eq!(target("0, \"r\""), Some("r"));
        assert_eq!(target("0 r"), Some("r"));
        assert_eq!(target("0;urls"), Some("urls"));
        assert_eq!(target("5"), None);
        assert_eq!(target("5;"), None);
        assert_eq!(target("url=x"), None);
        assert_eq!(target("0;url='"), None);
        assert_eq!(target("0;é"), Some("é"));
    }
}
