//! Metadata of a page: title, authors, date, description and what else a page says of itself.
//!
//! Reads a tree that is already parsed, once, and never the network or a clock. Each field has its
//! sources in order of trust: linked data (JSON-LD), microdata and RDFa, Open Graph and other
//! `meta` elements, and the content itself last. A field without evidence stays empty: nothing is
//! guessed.
//!
//! | file | reads |
//! | --- | --- |
//! | `facts` | the tree, in one pass: what may be evidence, in bounded lists |
//! | `linked_data` | JSON-LD |
//! | `region` | in which part of the page a node is |
//! | `title`, `authors`, `person_name`, `date`, … | one field each |

mod authors;
mod date;
mod descriptive;
mod facts;
pub mod linked_data;
mod person_name;
mod region;
mod site;
pub(crate) mod text;
mod title;

pub use date::written;
pub use date::{DateConfidence, PublicationDate};

use facts::PageFacts;
use region::PageLayout;
use varve_core::Moment;
use varve_page::dom::HtmlTree;
use varve_page::metadata::PageMetadata;

/// A parsed page, and what else is known of it.
#[derive(Debug, Clone, Copy)]
pub struct MetadataInput<'a> {
    /// The page.
    pub tree: &'a HtmlTree,
    /// The requested URL.
    pub requested_url: &'a str,
    /// The value of the `Content-Language` header.
    pub content_language: Option<&'a str>,
    /// When the page was fetched: a later date is not its date of publication.
    pub fetched: Option<Moment>,
}

/// What a page says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArticleMetadata {
    /// The canonical URL; the requested URL if the page declares none.
    pub canonical_url: String,
    /// The host of the canonical URL.
    pub hostname: Option<String>,
    /// The title, without the name of the site.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The name of the site.
    pub sitename: Option<String>,
    /// The authors.
    pub authors: Vec<String>,
    /// The date of publication.
    pub date: Option<PublicationDate>,
    /// The categories.
    pub categories: Vec<String>,
    /// The tags.
    pub tags: Vec<String>,
    /// The language, as a BCP 47 tag.
    pub language: Option<String>,
    /// The URL of the main image.
    pub image: Option<String>,
    /// The type of the page, as it declares it.
    pub page_type: Option<String>,
    /// The licence.
    pub license: Option<String>,
}

/// Reads the metadata of a page.
pub fn read(input: &MetadataInput<'_>) -> ArticleMetadata {
    let declared = PageMetadata::of_tree(input.tree);
    let canonical = declared.canonical(input.requested_url);
    let facts = PageFacts::of(input.tree);
    let items = facts.linked_data.items();
    let main = items.main(input.requested_url).map(|(_, item)| item);
    let hostname = site::hostname(&canonical.url);
    let sitename = site::sitename(&facts, &items, input.requested_url);
    let names = site::site_names(sitename.as_deref(), hostname.as_deref());
    let title = title::title(&facts, &items, input.requested_url, &names);
    let language = descriptive::language(input, declared.language.as_deref(), &facts, &items, main);
    let layout = PageLayout::new(input.tree, title::title_node(&facts, title.as_deref()));
    let date = date::publication_date(input, &facts, &items, layout, language.as_deref());
    ArticleMetadata {
        authors: authors::authors(input, &facts, &items, layout, &names),
        description: descriptive::description(&facts, &items, main),
        categories: descriptive::categories(&facts, &items, main),
        tags: descriptive::tags(&facts, &items, main),
        image: descriptive::image(input, &facts, &items, main),
        page_type: site::page_type(&facts, &items, input.requested_url),
        license: descriptive::license(&facts, &items, main),
        canonical_url: canonical.url,
        hostname,
        title,
        sitename,
        date,
        language,
    }
}
