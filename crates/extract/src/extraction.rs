//! From a body to a page object: decode once, parse once, read metadata and content.

use crate::content::{self, MainContent};
use crate::content_type::ContentType;
use crate::document;
use crate::metadata::{self, MetadataInput};
use crate::page_object::ExtractedPage;
use varve_core::Moment;
use varve_page::charset;
use varve_page::dom::{HtmlTree, TreeCut, TreeLimits};

/// A body, and what its response says of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageInput<'a> {
    /// The body, without content codings.
    pub body: &'a [u8],
    /// The value of the `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The value of the `Content-Language` header.
    pub content_language: Option<&'a str>,
    /// The URL that was requested: links are resolved against it.
    pub requested_url: &'a str,
    /// When the page was fetched: a later date is not its date of publication.
    pub fetched: Option<Moment>,
}

/// What to extract, and within which limits. Metadata is always read.
#[derive(Debug, Clone, Copy)]
pub struct ExtractOptions {
    /// The main text.
    pub text: bool,
    /// The main content as HTML.
    pub html: bool,
    /// The main content as Markdown.
    pub markdown: bool,
    /// The confidence of the date.
    pub date_confidence: bool,
    /// Limits of the tree.
    pub limits: TreeLimits,
}

impl Default for ExtractOptions {
    fn default() -> Self {
        Self {
            text: true,
            html: false,
            markdown: false,
            date_confidence: false,
            limits: TreeLimits::default(),
        }
    }
}

/// A page, and why it is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    /// What was found. Its `error` is the message of the failure.
    pub page: ExtractedPage,
    /// Why the page has no main content, or not all of it.
    pub failure: Option<ExtractError>,
}

/// Why a page has no main content, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// The body is neither HTML nor plain text.
    #[error("unsupported content type: {}", if media_type.is_empty() { "unknown" } else { media_type })]
    ContentType {
        /// The media type of the response; empty if it has none.
        media_type: String,
    },
    /// The page is longer than the limit; its beginning was read.
    #[error("the page is longer than {limit} bytes")]
    TooLong {
        /// Maximum number of bytes.
        limit: usize,
    },
    /// Elements nest deeper than browsers allow; the page was read up to there.
    #[error("the elements of the page nest deeper than {}", varve_page::dom::MAX_TREE_DEPTH)]
    TooDeep,
    /// The page has more nodes than the limit; its beginning was read.
    #[error("the page has more than {limit} nodes")]
    TooManyNodes {
        /// Maximum number of nodes.
        limit: usize,
    },
    /// A tag has too many attributes; the page was read up to there.
    #[error("a tag of the page has too many attributes")]
    TooManyAttributes,
    /// The page has more blocks of text than the limit; the rest was not read.
    #[error("the page has more than {limit} blocks of text")]
    TooManyBlocks {
        /// Maximum number of blocks.
        limit: usize,
    },
    /// The page has no text that is its main content.
    #[error("the page has no main text")]
    NoText,
}

impl ExtractError {
    fn from_cut(cut: TreeCut, limits: TreeLimits) -> Self {
        match cut {
            TreeCut::Length => Self::TooLong { limit: limits.bytes },
            TreeCut::Depth => Self::TooDeep,
            TreeCut::Nodes => Self::TooManyNodes { limit: limits.nodes },
            TreeCut::Attributes => Self::TooManyAttributes,
        }
    }
}

/// Reads a page.
pub fn extract(input: &PageInput<'_>, options: &ExtractOptions) -> Extraction {
    match ContentType::of(input.body, input.content_type) {
        Some(ContentType::Html) => extract_html(input, options),
        Some(ContentType::PlainText) => extract_plain_text(input, options),
        None => {
            let media_type = input.content_type.unwrap_or_default().to_owned();
            let page = ExtractedPage { url: input.requested_url.to_owned(), ..ExtractedPage::default() };
            finish(page, Some(ExtractError::ContentType { media_type }))
        }
    }
}

fn extract_html(input: &PageInput<'_>, options: &ExtractOptions) -> Extraction {
    let decoded = charset::decode(input.body, input.content_type);
    let tree = HtmlTree::parse_within(&decoded.text, options.limits);
    let metadata = metadata::read(&MetadataInput {
        tree: &tree,
        requested_url: input.requested_url,
        content_language: input.content_language,
        fetched: input.fetched,
    });
    let confidence = metadata.date.map(|date| date.confidence);
    let mut page = ExtractedPage::with_metadata(input.requested_url, metadata);
    page.date_confidence = confidence.filter(|_| options.date_confidence);
    let cut = tree.cut().map(|cut| ExtractError::from_cut(cut, options.limits));
    if !(options.text || options.html || options.markdown) {
        return finish(page, cut);
    }
    let content = content::choose(&tree, input.requested_url, options.limits);
    add_content(&mut page, &content, input.requested_url, options);
    let is_empty = content.blocks.is_empty().then_some(ExtractError::NoText);
    let too_many =
        content.is_cut.then_some(ExtractError::TooManyBlocks { limit: content::blocks::MAX_BLOCKS });
    finish(page, cut.or(too_many).or(is_empty))
}

/// Adds the forms of the content that are requested.
fn add_content(page: &mut ExtractedPage, content: &MainContent<'_>, url: &str, options: &ExtractOptions) {
    if content.blocks.is_empty() {
        return;
    }
    if options.text {
        page.content_text = Some(document::text(content));
    }
    if options.html {
        page.content_html = Some(document::html(content, url));
    }
    if options.markdown {
        page.content_markdown = document::markdown(content, url);
    }
}

fn extract_plain_text(input: &PageInput<'_>, options: &ExtractOptions) -> Extraction {
    let decoded = charset::decode(input.body, input.content_type);
    let page = ExtractedPage {
        url: input.requested_url.to_owned(),
        content_text: Some(decoded.text.into_owned()).filter(|text| options.text && !text.is_empty()),
        ..ExtractedPage::default()
    };
    finish(page, None)
}

fn finish(mut page: ExtractedPage, failure: Option<ExtractError>) -> Extraction {
    page.error = failure.as_ref().map(ToString::to_string);
    Extraction { page, failure }
}
