//! Main content as text, as clean HTML and as Markdown.
//!
//! The chosen blocks become a sequence of Markdown events ([`events`]), from which the `pulldown-cmark`
//! crates write HTML and Markdown. So both have the same content and no element that Markdown has
//! not: no script, style, form or embedded object can remain, and a link is a web or mail address.

mod events;
mod inline;
mod tables;

use crate::content::MainContent;
use crate::content::blocks::TextBlock;
use pulldown_cmark::Options;

/// The signs that documents show as a link beside a heading, to the heading itself.
const PERMALINK_SIGNS: [char; 2] = ['¶', '🔗'];

/// The text of the content: the text of each block on its own line.
pub(crate) fn text(content: &MainContent<'_>) -> String {
    let text = |block: &'_ TextBlock| block.text.trim_end_matches(PERMALINK_SIGNS).trim_end().to_owned();
    let texts: Vec<String> = content.blocks.iter().map(text).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// Whether a text is nothing but the sign of a link to its heading.
fn is_permalink_sign(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.trim_matches(PERMALINK_SIGNS).is_empty()
}

/// The content as HTML.
pub(crate) fn html(content: &MainContent<'_>, url: &str) -> String {
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events::of(content, url).into_iter());
    html
}

/// The content as Markdown, with tables. `None` if the writer refuses what the page nests.
pub(crate) fn markdown(content: &MainContent<'_>, url: &str) -> Option<String> {
    let events = events::of(content, url);
    let options = pulldown_cmark_to_cmark::Options {
        code_block_token_count: pulldown_cmark_to_cmark::DEFAULT_CODE_BLOCK_TOKEN_COUNT,
        increment_ordered_list_bullets: true,
        list_token: '-',
        ..Default::default()
    };
    let extensions = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut markdown = String::new();
    pulldown_cmark_to_cmark::cmark_with_options(events.iter(), &mut markdown, extensions, options).ok()?;
    markdown.truncate(markdown.trim_end().len());
    Some(markdown)
}

#[cfg(test)]
mod tests;
