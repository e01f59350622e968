//! The places in a page that a fragment can name: the `id` of any element, and the `name` of an
//! anchor.

use crate::tokenizer::{Grammar, HtmlToken, Tokenizer};

/// Calls `each` with the name of every place in a page, in order.
pub fn each_anchor(html: &[u8], each: &mut dyn FnMut(&str)) {
    let mut tokenizer = Tokenizer::new(Grammar::Html);
    let mut at = 0;
    while let Some((length, token)) = tokenizer.next(&html[at..], true) {
        if let HtmlToken::Start(tag) = token {
            let name = tag.is("a").then(|| tag.value("name")).flatten();
            tag.value("id").iter().chain(&name).for_each(|value| each(value));
        }
        at += length;
        if length == 0 || at >= html.len() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_of_anchors_are_places() {
        let html = "<h1 ID=top>x</h1><a name='old&amp;new'></a><input name=field><script>'<i id=no>'</script><p id=\"\u{fc}b\">";
        let mut found = Vec::new();
        each_anchor(html.as_bytes(), &mut |name| found.push(name.to_owned()));
        assert_eq!(found, ["top", "old&new", "\u{fc}b"]);
        each_anchor(b"<p id=", &mut |_| panic!("an unfinished tag names nothing"));
    }
}
