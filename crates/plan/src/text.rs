//! The text of a plan: YAML in one sorted form, so that version control shows only what users
//! changed.
//!
//! Unknown and repeated keys are errors: they would be lost when the file is written again.

use super::{Group, Plan, Root};
use varve_core::alias::Alias;
use varve_yaml::{Document, Entry, Kind, Mapping, Place, RepeatedKey, Value, YamlError, emit, parse};

/// The text is not a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// It is not YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// It has more than one document.
    #[error("{place}: a plan is one document")]
    Documents {
        /// Where the second begins.
        place: Place,
    },
    /// A key is repeated, and one of its values would be lost.
    #[error("{place}: the key `{}` was given before, on line {}", key.escape_debug(), first.line)]
    RepeatedKey {
        /// The second key.
        place: Place,
        /// The key.
        key: String,
        /// The first one.
        first: Place,
    },
    /// A key is unknown.
    #[error("{place}: `{}` is not a key of {of}; it has {known}", key.escape_debug())]
    Key {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// The thing that it is in.
        of: &'static str,
        /// The keys that this thing can have.
        known: &'static str,
    },
    /// A value has the wrong type.
    #[error("{place}: {expected}")]
    Form {
        /// Where.
        place: Place,
        /// The expected value.
        expected: &'static str,
    },
    /// A required key is missing.
    #[error("{place}: {of} needs `{key}`")]
    Missing {
        /// Where.
        place: Place,
        /// The thing that lacks it.
        of: &'static str,
        /// The key.
        key: &'static str,
    },
}

impl PlanError {
    /// The position of the error, if it has one.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Yaml(error) => error.place(),
            Self::Documents { place } | Self::Key { place, .. } | Self::RepeatedKey { place, .. } => {
                Some(*place)
            }
            Self::Form { place, .. } | Self::Missing { place, .. } => Some(*place),
        }
    }
}

impl Plan {
    /// Parses a text. The plan may still have [`Self::problems`].
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let mut plan = match parse(text)?.as_slice() {
            [] => Self::default(),
            [document] => {
                if let Some(repeated) = document.repeated_keys.first() {
                    let RepeatedKey { key, first, second } = repeated.clone();
                    return Err(PlanError::RepeatedKey { place: second, key, first });
                }
                read(document)?
            }
            [_, second, ..] => return Err(PlanError::Documents { place: second.place }),
        };
        plan.sort();
        Ok(plan)
    }

    /// The text of the plan.
    pub fn text(&self) -> String {
        let mut plan = self.clone();
        plan.sort();
        let lists = [
            ("aliases", plan.aliases.iter().map(alias_value).collect::<Vec<_>>()),
            ("groups", plan.groups.iter().map(group_value).collect()),
            ("roots", plan.roots.iter().map(root_value).collect()),
        ];
        let entries = lists.into_iter().filter(|(_, items)| !items.is_empty());
        let entries = entries.map(|(key, items)| Entry::new(key, Value::sequence(items))).collect();
        emit([&Value::mapping(entries)])
    }
}

fn root_value(root: &Root) -> Value {
    Value::mapping(vec![text_entry("name", &root.name), text_entry("url", &root.url)])
}

fn group_value(group: &Group) -> Value {
    let mut entries = vec![text_entry("name", &group.name), text_entry("pattern", &group.pattern)];
    entries.extend(group.found_on.as_deref().map(|name| text_entry("found_on", name)));
    entries.extend(group.do_not_download.then(|| Entry::new("do_not_download", Value::bool(true))));
    Value::mapping(entries)
}

fn alias_value(alias: &Alias) -> Value {
    let mut entries = vec![text_entry("source", &alias.source), text_entry("target", &alias.target)];
    entries.extend(alias.external.then(|| Entry::new("external", Value::bool(true))));
    Value::mapping(entries)
}

fn text_entry(key: &str, text: &str) -> Entry {
    Entry::new(key, Value::text(text))
}

fn read(document: &Document) -> Result<Plan, PlanError> {
    const PLAN_KEYS: &str = "a plan has `roots`, `groups` and `aliases`";
    let mapping = match &document.value {
        value if value.is_null() => return Ok(Plan::default()),
        Value::Mapping(mapping) => mapping,
        _ => return Err(PlanError::Form { place: document.place, expected: PLAN_KEYS }),
    };
    let mut plan = Plan::default();
    for entry in &mapping.entries {
        let key = entry.key.as_text().unwrap_or_default();
        match key {
            "roots" => plan.roots = items(entry)?.map(root).collect::<Result<_, _>>()?,
            "groups" => plan.groups = items(entry)?.map(group).collect::<Result<_, _>>()?,
            "aliases" => plan.aliases = items(entry)?.map(alias).collect::<Result<_, _>>()?,
            _ => return Err(unknown(entry, "a plan", "`aliases`, `groups` and `roots`")),
        }
    }
    Ok(plan)
}

/// An item of a list, with the position for errors about missing keys.
struct Item<'a> {
    mapping: Option<&'a Mapping>,
    place: Place,
}

fn items(entry: &Entry) -> Result<impl Iterator<Item = Item<'_>>, PlanError> {
    let items = match &entry.value {
        value if value.is_null() => &[][..],
        Value::Sequence(sequence) => &sequence.items,
        _ => return Err(PlanError::Form { place: entry.place, expected: "a list belongs here" }),
    };
    Ok(items.iter().map(|value| match value {
        Value::Mapping(mapping) => {
            let place = mapping.entries.first().map_or(entry.place, |first| first.place);
            Item { mapping: Some(mapping), place }
        }
        _ => Item { mapping: None, place: entry.place },
    }))
}

impl<'a> Item<'a> {
    fn entries(&self) -> Result<&'a [Entry], PlanError> {
        let expected = "each thing in this list is a mapping, such as `name: …`";
        let mapping = self.mapping.ok_or(PlanError::Form { place: self.place, expected })?;
        Ok(&mapping.entries)
    }

    fn needs<T>(&self, value: Option<T>, of: &'static str, key: &'static str) -> Result<T, PlanError> {
        value.ok_or(PlanError::Missing { place: self.place, of, key })
    }
}

fn root(item: Item<'_>) -> Result<Root, PlanError> {
    const ITEM_NAME: &str = "a root";
    let (mut name, mut url) = (None, None);
    for entry in item.entries()? {
        match entry.key.as_text() {
            Some("name") => name = Some(word(entry)?),
            Some("url") => url = Some(word(entry)?),
            _ => return Err(unknown(entry, ITEM_NAME, "`name` and `url`")),
        }
    }
    let url = item.needs(url, ITEM_NAME, "url")?;
    Ok(Root { name: name.unwrap_or_else(|| url.clone()), url })
}

fn group(item: Item<'_>) -> Result<Group, PlanError> {
    const ITEM_NAME: &str = "a group";
    let (mut name, mut pattern, mut found_on, mut do_not_download) = (None, None, None, false);
    for entry in item.entries()? {
        match entry.key.as_text() {
            Some("name") => name = Some(word(entry)?),
            Some("pattern") => pattern = Some(word(entry)?),
            Some("found_on") if entry.value.is_null() => {}
            Some("found_on") => found_on = Some(word(entry)?),
            Some("do_not_download") => do_not_download = truth(entry)?,
            _ => {
                return Err(unknown(entry, ITEM_NAME, "`do_not_download`, `found_on`, `name` and `pattern`"));
            }
        }
    }
    let pattern = item.needs(pattern, ITEM_NAME, "pattern")?;
    Ok(Group { name: name.unwrap_or_else(|| pattern.clone()), pattern, found_on, do_not_download })
}

fn alias(item: Item<'_>) -> Result<Alias, PlanError> {
    const ITEM_NAME: &str = "an alias";
    let (mut source, mut target, mut external) = (None, None, false);
    for entry in item.entries()? {
        match entry.key.as_text() {
            Some("source") => source = Some(word(entry)?),
            Some("target") => target = Some(word(entry)?),
            Some("external") => external = truth(entry)?,
            _ => return Err(unknown(entry, ITEM_NAME, "`external`, `source` and `target`")),
        }
    }
    let (source, target) =
        (item.needs(source, ITEM_NAME, "source")?, item.needs(target, ITEM_NAME, "target")?);
    Ok(Alias { source, target, external })
}

/// The text as written, also where YAML gives it another type: a root may be called `2024` or `yes`.
fn word(entry: &Entry) -> Result<String, PlanError> {
    let scalar = entry.value.as_scalar().filter(|_| !entry.value.is_null());
    let text = scalar.map(|scalar| scalar.written().to_owned());
    text.ok_or(PlanError::Form { place: entry.place, expected: "a text belongs here" })
}

fn truth(entry: &Entry) -> Result<bool, PlanError> {
    let scalar = entry.value.as_scalar().filter(|scalar| scalar.kind == Kind::Bool);
    let expected = "`true` or `false` belongs here";
    scalar.map(|scalar| scalar.text == "true").ok_or(PlanError::Form { place: entry.place, expected })
}

fn unknown(entry: &Entry, of: &'static str, known: &'static str) -> PlanError {
    let key = entry.key.as_scalar().map(|scalar| scalar.written().to_owned()).unwrap_or_default();
    PlanError::Key { place: entry.place, key, of, known }
}
