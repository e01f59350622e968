//! Rewrites the links of media playlists (M3U8): lines that are addresses, and the `URI` of tags.

use super::{LinkRewriter, ReplacedText};
use std::borrow::Cow;

/// The playlist with other links.
pub fn playlist<'t>(text: &'t str, links: &LinkRewriter) -> Cow<'t, str> {
    let mut pieces = ReplacedText::new(text);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = match line.starts_with('#') {
            true => attribute(line),
            false => Some((0, line.trim_end().len())),
        };
        if let Some((start, end)) = range
            && let Some(link) = links.leads(&line[start..end])
        {
            pieces.replace(at + start..at + end, &link.replace('"', "%22"));
        }
        at += line.len();
    }
    pieces.finish()
}

/// The range of the address in a tag.
fn attribute(line: &str) -> Option<(usize, usize)> {
    let start = line.find("URI=\"")? + 5;
    let length = line[start..].find('"')?;
    Some((start, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_attributes_change() {
        let to = |url: &str| format!("/W/{url}");
        let links = LinkRewriter::new("http://h/v/m.m3u8", to).unwrap();
        let list = "#EXTM3U\r\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=1\n\n1.ts\r\nhttp://g/2.ts";
        let expected = "#EXTM3U\r\n#EXT-X-KEY:METHOD=AES-128,URI=\"/W/http://h/v/k\",IV=1\n\n/W/http://h/v/1.ts\r\n/W/http://g/2.ts";
        assert_eq!(playlist(list, &links), expected);
    }
}
