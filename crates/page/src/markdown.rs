//! Markdown as the HTML that matters for links: anchors, images, headings with their ids, and the
//! HTML that it contains.
//!
//! One reader of links and anchors then serves both formats. Text is left out, and with it all code
//! blocks. Ids of headings are those that forges make: lower case, words joined by hyphens, and a
//! number for a repeated heading.

use std::collections::HashMap;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// The links, anchors and HTML of a Markdown text, as HTML.
pub fn link_html(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_HEADING_ATTRIBUTES;
    let mut writer = LinkHtml::default();
    Parser::new_ext(markdown, options).for_each(|event| writer.add(event));
    writer.html
}

#[derive(Default)]
struct LinkHtml {
    html: String,
    /// The text of the heading that is open.
    heading: Option<String>,
    /// How often each heading id was made.
    used_ids: HashMap<String, usize>,
}

impl LinkHtml {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Link { link_type: LinkType::Email, .. }) => {}
            Event::Start(Tag::Link { dest_url, .. }) => self.element("a", "href", &dest_url),
            Event::Start(Tag::Image { dest_url, .. }) => self.element("img", "src", &dest_url),
            Event::Start(Tag::Heading { id, .. }) => self.begin_heading(id.as_deref()),
            Event::End(TagEnd::Heading(_)) => self.end_heading(),
            Event::Html(html) | Event::InlineHtml(html) => self.html.push_str(&html),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut self.heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }

    fn element(&mut self, name: &str, attribute: &str, value: &str) {
        let value = value.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
        self.html.push_str(&format!("<{name} {attribute}=\"{value}\"></{name}>\n"));
    }

    fn begin_heading(&mut self, id: Option<&str>) {
        if let Some(id) = id {
            self.element("h1", "id", id);
        }
        self.heading = Some(String::new());
    }

    fn end_heading(&mut self) {
        let Some(text) = self.heading.take() else { return };
        let slug = slug(&text);
        let count = self.used_ids.entry(slug.clone()).or_default();
        let id = if *count == 0 { slug } else { format!("{slug}-{count}") };
        *count += 1;
        self.element("h1", "id", &id);
    }
}

/// The id of a heading.
fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let letters = kept.chars().filter_map(|letter| match letter {
        ' ' | '-' => Some('-'),
        '_' => Some('_'),
        letter if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_images_and_html_are_kept_and_code_is_not() {
        let html = link_html(
            "[one](https://e.org/?a=1&b=\"2\" \"title\") ![two](two.png) <https://e.org/3> <no@e.org>\n\n[four]\n\n\
             <a href=\"five\">x</a> `[no](no)`\n\n    [no](no)\n\n[four]: ./4.md#part\n",
        );
        assert!(html.contains("<a href=\"https://e.org/?a=1&amp;b=&quot;2&quot;\">"), "{html}");
        for kept in ["<img src=\"two.png\">", "\"https://e.org/3\"", "\"./4.md#part\"", "<a href=\"five\">"] {
            assert!(html.contains(kept), "{kept} in {html}");
        }
        assert!(!html.contains("\"no\"") && !html.contains("no@e.org"), "{html}");
    }

    #[test]
    fn headings_have_the_ids_of_forges() {
        let html = link_html("# What's *new* in 0.2?\n\n## Notes\n\n## Notes\n\n## Own {#mine}\n");
        for id in ["whats-new-in-02", "notes", "notes-1", "mine", "own"] {
            assert!(html.contains(&format!("id=\"{id}\"")), "{id} in {html}");
        }
    }
}
