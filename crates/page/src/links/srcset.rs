//! `srcset`: candidates with descriptors, parsed by the HTML standard.

/// The URLs of the candidates in order, with their offsets.
pub fn candidates(set: &str) -> impl Iterator<Item = (usize, &str)> {
    // Without spaces a browser reads one URL with commas in it, but authors mean several.
    let unspaced = !set.trim_matches(is_space).contains(is_space) && !set.contains(':');
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &set[at..];
        let start = at + rest.find(|c: char| !is_space(c) && c != ',')?;
        let length = set[start..].find(is_space).unwrap_or(set.len() - start);
        let url = set[start..start + length].trim_end_matches(',');
        at = if url.len() < length { start + length } else { after_descriptors(set, start + length) };
        match url.find(',').filter(|_| unspaced) {
            Some(comma) => {
                at = start + comma + 1;
                Some((start, &url[..comma]))
            }
            None => Some((start, url)),
        }
    })
}

/// The offset behind the descriptors of a candidate: after the next comma outside of parentheses.
fn after_descriptors(set: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in set.bytes().enumerate().skip(from) {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    set.len()
}

fn is_space(character: char) -> bool {
    character.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn urls(set: &str) -> Vec<&str> {
        candidates(set).map(|(_, url)| url).collect()
    }

    #[test]
    fn candidates_are_separated() {
        assert_eq!(urls("a 1x, b 2x"), ["a", "b"]);
        assert_eq!(urls("\n a 1x,\n b 2x"), ["a", "b"]);
        assert_eq!(urls("a,b"), ["a", "b"]);
        assert_eq!(urls("a, b,c 1x"), ["a", "b,c"]);
        assert_eq!(urls("w_1,h_2/x.jpg 1x"), ["w_1,h_2/x.jpg"]);
        assert_eq!(urls("data:image/png;base64,AA,BB 1x, c 2x"), ["data:image/png;base64,AA,BB", "c"]);
        assert_eq!(urls("http://h/w_1,h_2/x.jpg 1x, y (a, b), z"), ["http://h/w_1,h_2/x.jpg", "y", "z"]);
        assert_eq!(urls(" , ,"), [""; 0]);
    }

    proptest! {
        #[test]
        fn parsing_ends_and_offsets_of_candidates_are_correct(set in "[a,: ()\né]{0,30}") {
            for (at, url) in candidates(&set) {
                prop_assert!(set[at..].starts_with(url));
            }
        }
    }
}
