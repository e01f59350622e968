//! JSON-LD: the items that a page describes in `script type="application/ld+json"`.
//!
//! Real pages wrap it in comments, break strings over lines and leave trailing commas: such text is
//! repaired once before it is given up. Length and nesting are bounded; what is beyond is ignored.

use serde_json::{Map, Value};

/// Maximum length of all JSON-LD of a page. A value takes up to thirty times its text in memory.
const MAX_LINKED_DATA_BYTES: usize = 1 << 20;

/// Maximum number of items of a page.
const MAX_LINKED_ITEMS: usize = 4096;

/// Maximum number of values that are read from one list.
const MAX_LIST_VALUES: usize = 64;

/// The JSON-LD of a page.
#[derive(Debug, Default)]
pub struct LinkedData {
    documents: Vec<Value>,
    bytes: usize,
}

impl LinkedData {
    /// Adds the text of a script. Text that is no JSON is ignored, and so is text nested more than
    /// 128 deep.
    pub fn add(&mut self, text: &str) {
        let text = unwrapped(text);
        if text.len() > MAX_LINKED_DATA_BYTES - self.bytes {
            return;
        }
        self.bytes += text.len();
        let parsed = serde_json::from_str(text).or_else(|_| serde_json::from_str(&repaired(text)));
        self.documents.extend(parsed.ok());
    }

    /// The items, with references between them.
    pub fn items(&self) -> LinkedItems<'_> {
        let mut items = LinkedItems { main: Vec::new(), parts: Vec::new(), named: Vec::new(), website: None };
        for document in &self.documents {
            items.collect(document, true);
        }
        items
    }
}

/// What an item describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// An article of any kind.
    Article,
    /// A thread, or a question with answers.
    Thread,
    /// Another work that has authors and a date: a recipe, a video, a data set.
    Work,
    /// A web page of any kind.
    Page,
}

/// An item of linked data.
pub type LinkedItem = Map<String, Value>;

/// The items of a page.
#[derive(Debug)]
pub struct LinkedItems<'d> {
    /// Items that describe the page, with their kinds.
    main: Vec<(ItemKind, &'d LinkedItem)>,
    /// Items that describe something on the page, which may be all that the page shows.
    parts: Vec<(ItemKind, &'d LinkedItem)>,
    /// Items with an id.
    named: Vec<(&'d str, &'d LinkedItem)>,
    /// The item for the web site.
    website: Option<&'d LinkedItem>,
}

impl<'d> LinkedItems<'d> {
    /// Adds the items of a value. `is_main`: the value describes the page, not something on it.
    /// The parser has limited the nesting.
    fn collect(&mut self, value: &'d Value, is_main: bool) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.collect(value, is_main)),
            Value::Object(item)
                if self.main.len() + self.parts.len() + self.named.len() < MAX_LINKED_ITEMS =>
            {
                if let Some(id) = item.get("@id").and_then(Value::as_str).filter(|_| item.len() > 1) {
                    self.named.push((id, item));
                }
                match kind_of(item) {
                    Some(kind) if is_main => self.main.push((kind, item)),
                    Some(kind) if kind < ItemKind::Page => self.parts.push((kind, item)),
                    _ => {}
                }
                if self.website.is_none() && item.get("@type").and_then(Value::as_str) == Some("WebSite") {
                    self.website = Some(item);
                }
                for (key, value) in item {
                    self.collect(value, is_main && CONTAINER_KEYS.contains(&key.as_str()));
                }
            }
            _ => {}
        }
    }

    /// The item that describes the page best. Of several of its kind, the one with the URL of the
    /// page; if none has it, the only one.
    pub fn main(&self, url: &str) -> Option<(ItemKind, &'d LinkedItem)> {
        let kind = self.main.iter().map(|(kind, _)| *kind).min();
        if kind.is_none_or(|kind| kind == ItemKind::Page)
            && let Some(part) = self.parts.iter().find(|(_, item)| has_url(item, url))
        {
            return Some(*part);
        }
        let of_kind: Vec<_> = self.main.iter().filter(|(other, _)| Some(*other) == kind).collect();
        let has_url = |item: &LinkedItem| has_url(item, url);
        let first = of_kind.iter().find(|(_, item)| has_url(item)).or_else(|| of_kind.first())?;
        (of_kind.len() <= MAX_MAIN_ITEMS || has_url(first.1)).then_some(**first)
    }

    /// The first item of a kind.
    pub fn first_of(&self, kind: ItemKind) -> Option<&'d LinkedItem> {
        self.main.iter().find(|(other, _)| *other == kind).map(|(_, item)| *item)
    }

    /// The value of the first of these fields that an item has with a text.
    pub fn text(&self, item: &'d LinkedItem, keys: &[&str]) -> Option<&'d str> {
        keys.iter().filter_map(|key| item.get(*key)).find_map(first_text)
    }

    /// The texts of a field that may be a list, each of which may be a text, a thing with a name, or
    /// a reference to one.
    pub fn names(&self, item: &'d LinkedItem, key: &str) -> Vec<&'d str> {
        match item.get(key) {
            Some(Value::Array(values)) => {
                values.iter().take(MAX_LIST_VALUES).filter_map(|value| self.name(value)).collect()
            }
            Some(value) => self.name(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// The name of the web site that the page belongs to.
    pub fn website_name(&self) -> Option<&'d str> {
        self.website.and_then(|site| self.text(site, &["name", "alternateName"]))
    }

    /// The URL of the image of an item.
    pub fn image(&self, item: &'d LinkedItem) -> Option<&'d str> {
        let images = match item.get("image").or_else(|| item.get("thumbnailUrl"))? {
            Value::Array(images) => images.first()?,
            image => image,
        };
        let Value::Object(thing) = images else { return first_text(images) };
        let own = |thing: &'d LinkedItem| {
            ["url", "contentUrl"].into_iter().find_map(|key| first_text(thing.get(key)?))
        };
        let named = |id: &str| self.named.iter().find(|(other, _)| *other == id).map(|(_, thing)| *thing);
        own(thing).or_else(|| own(named(thing.get("@id")?.as_str()?)?))
    }

    fn name(&self, value: &'d Value) -> Option<&'d str> {
        let Value::Object(thing) = value else { return first_text(value) };
        let own = |thing: &'d LinkedItem| {
            ["name", "@value"].into_iter().find_map(|key| first_text(thing.get(key)?))
        };
        own(thing).or_else(|| own(self.with_id(thing.get("@id")?.as_str()?)?))
    }

    fn with_id(&self, id: &str) -> Option<&'d LinkedItem> {
        self.named
            .iter()
            .find(|(other, thing)| *other == id && thing.contains_key("name"))
            .map(|(_, thing)| *thing)
    }
}

/// Number of items of the best kind from which a page is a list of such items.
const MAX_MAIN_ITEMS: usize = 2;

/// Keys whose values describe the same page as the item that has them.
const CONTAINER_KEYS: [&str; 3] = ["@graph", "mainEntity", "mainEntityOfPage"];

/// The kind of an item, by its type.
fn kind_of(item: &LinkedItem) -> Option<ItemKind> {
    let types = match item.get("@type")? {
        Value::Array(types) => types.iter().take(MAX_LIST_VALUES).filter_map(Value::as_str).collect(),
        value => vec![value.as_str()?],
    };
    types.into_iter().filter_map(kind_of_type).min()
}

/// The kind of a schema.org type, with or without its namespace.
pub(super) fn kind_of_type(name: &str) -> Option<ItemKind> {
    let name = name.rsplit(['/', '#', ':']).next().unwrap_or(name);
    match name {
        "DiscussionForumPosting" | "Question" | "SocialMediaPosting" => Some(ItemKind::Thread),
        "Review" | "Recipe" | "HowTo" | "VideoObject" | "PodcastEpisode" | "Dataset" | "CreativeWork"
        | "Chapter" | "Book" | "LearningResource" | "Course" | "Guide" => Some(ItemKind::Work),
        _ if name.ends_with("Article") || name.ends_with("BlogPosting") => Some(ItemKind::Article),
        "Report" | "LiveBlogPosting" | "Blogposting" | "article" => Some(ItemKind::Article),
        _ if name.ends_with("Page") => Some(ItemKind::Page),
        _ => None,
    }
}

/// Whether an item says that it is the page with a URL.
fn has_url(item: &LinkedItem, url: &str) -> bool {
    ["url", "@id", "mainEntityOfPage"]
        .into_iter()
        .filter_map(|key| item.get(key))
        .filter_map(|value| value.as_str().or_else(|| value.get("@id")?.as_str()))
        .any(|given| is_same_page(given, url))
}

fn first_text(value: &Value) -> Option<&str> {
    let text = match value {
        Value::String(text) => text,
        Value::Array(values) => return values.iter().take(MAX_LIST_VALUES).find_map(Value::as_str),
        Value::Object(thing) => thing.get("@value")?.as_str()?,
        _ => return None,
    };
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Whether two URLs name one page: without scheme, `www`, query, fragment and final slash.
fn is_same_page(left: &str, right: &str) -> bool {
    bare(left) == bare(right)
}

fn bare(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    rest.split(['?', '#']).next().unwrap_or(rest).trim_end_matches('/')
}

/// The beginning of a CDATA section, from its first bracket.
const CDATA_MARK: &str = "[CDATA[";

/// A script without the comment or CDATA marks around it.
fn unwrapped(text: &str) -> &str {
    let start = text.find(['{', '[']).unwrap_or(text.len());
    let is_marked = text[start..].starts_with(CDATA_MARK);
    let start = if is_marked { start + CDATA_MARK.len() } else { start };
    let end = text.rfind(['}', ']']).map_or(text.len(), |end| end + 1);
    let inside = text.get(start..end).unwrap_or_default();
    let inside = if is_marked { inside.strip_suffix("]]").unwrap_or(inside) } else { inside };
    inside.trim_end_matches(|letter: char| letter.is_whitespace() || matches!(letter, '/' | '*'))
}

/// JSON without the mistakes that are common on pages: control characters inside strings, commas
/// before a closing bracket, and semicolons behind the end.
fn repaired(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut in_string = false;
    let mut is_escaped = false;
    for letter in text.chars() {
        match letter {
            '"' if !is_escaped => in_string = !in_string,
            '}' | ']' if !in_string => {
                let kept = repaired.trim_end().len();
                if repaired[..kept].ends_with(',') {
                    repaired.truncate(kept - 1);
                }
            }
            _ => {}
        }
        is_escaped = in_string && letter == '\\' && !is_escaped;
        repaired.push(if letter.is_control() { ' ' } else { letter });
    }
    repaired
}
