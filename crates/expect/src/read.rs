//! From YAML documents to a domain and its expectations, in every form that files have had.
//!
//! The first files had no document for the domain and called the path `path`; later ones have more
//! and more keys. A path, a type, a digest or a name is taken as it was spelled, regardless of the
//! type that YAML 1.1 gives it: a digest may be all digits, a category may be `yes`.

use std::collections::HashMap;
use std::sync::Arc;

use super::domain::{CASE_SENSITIVE_PATHS_KEY, CNAMES_KEY, Domain, HTTPS_KEY};
use super::error::DomainFileError;
use super::record::{
    CATEGORIES_KEY, CONTENT_LENGTH_KEY, CONTENT_SHA256_KEY, CONTENT_TYPE_KEY, Expectation, OLD_PATH_KEY,
    PATH_KEY,
};
use varve_core::BodyId;
use varve_yaml::{Document, Entry, Kind, Mapping, Place, Scalar, Value};

/// The domain, and each record with its place.
pub(crate) fn read(
    documents: impl IntoIterator<Item = Document>,
) -> Result<(Domain, Vec<(Place, Expectation)>), DomainFileError> {
    let mut documents = documents.into_iter().peekable();
    let domain = match documents.next_if(|first| !is_record(&first.value)) {
        Some(first) => domain(mapping(first, "the first document")?.1)?,
        None => Domain::default(),
    };
    let mut records = Vec::new();
    let mut places = HashMap::new();
    for document in documents.filter(|document| !document.value.is_null()) {
        let (place, mapping) = mapping(document, "a record")?;
        let record = record(place, mapping)?;
        if let Some(first) = places.insert(record.path.clone(), place) {
            return Err(DomainFileError::RepeatedPath { place, first, path: record.path });
        }
        records.push((place, record));
    }
    Ok((domain, records))
}

/// The settings in a first document; `None` if it is a record or has a mistake.
pub(crate) fn domain_of(value: Value) -> Option<Domain> {
    if is_record(&value) {
        return None;
    }
    let document = Document { place: Place::START, value, repeated_keys: Vec::new() };
    domain(mapping(document, "the first document").ok()?.1).ok()
}

/// The record in a document; `None` if it is empty or has a mistake.
pub(crate) fn record_of(value: Value) -> Option<Expectation> {
    let Value::Mapping(map) = value else { return None };
    record(Place::START, Arc::unwrap_or_clone(map)).ok().filter(|record| !record.has_fragment())
}

/// The first document may be missing; then a record is in its place.
fn is_record(value: &Value) -> bool {
    match value {
        Value::Mapping(map) => {
            map.get(PATH_KEY).or(map.get(OLD_PATH_KEY)).is_some_and(|path| path.as_scalar().is_some())
        }
        _ => false,
    }
}

fn mapping(document: Document, what: &'static str) -> Result<(Place, Mapping), DomainFileError> {
    let place = document.place;
    match document.value {
        Value::Mapping(map) => Ok((place, Arc::unwrap_or_clone(map))),
        value if value.is_null() => Ok((place, Mapping::default())),
        _ => Err(DomainFileError::NotAMapping { place, what }),
    }
}

fn domain(map: Mapping) -> Result<Domain, DomainFileError> {
    let mut domain = Domain::default();
    for entry in map.entries {
        match known(&entry) {
            Some(CNAMES_KEY) => domain.cnames = Some(words(CNAMES_KEY, &entry)?),
            Some(HTTPS_KEY) => domain.https = Some(truth(HTTPS_KEY, &entry)?),
            Some(CASE_SENSITIVE_PATHS_KEY) => {
                domain.case_sensitive_paths = Some(truth(CASE_SENSITIVE_PATHS_KEY, &entry)?);
            }
            _ => domain.extras.push(entry),
        }
    }
    Ok(domain)
}

fn record(place: Place, map: Mapping) -> Result<Expectation, DomainFileError> {
    let path_key = if map.get(PATH_KEY).is_some() { PATH_KEY } else { OLD_PATH_KEY };
    let mut record = Expectation::default();
    let mut path = None;
    for entry in map.entries {
        match known(&entry) {
            Some(key) if key == path_key => path = Some(word(PATH_KEY, "a text", &entry)?.to_owned()),
            Some(CONTENT_TYPE_KEY) => {
                record.media_type = Some(word(CONTENT_TYPE_KEY, "a text", &entry)?.to_owned());
            }
            Some(CONTENT_LENGTH_KEY) => record.length = Some(length(&entry)?),
            Some(CONTENT_SHA256_KEY) => record.sha256 = Some(digest(&entry)?),
            Some(CATEGORIES_KEY) => record.categories = words(CATEGORIES_KEY, &entry)?,
            _ => record.extras.push(entry),
        }
    }
    record.path = path.ok_or(DomainFileError::NoPath { place })?;
    Ok(record)
}

/// The value of a key. A key without a value is ignored and kept.
fn known(entry: &Entry) -> Option<&str> {
    entry.key.as_text().filter(|_| !entry.value.is_null())
}

fn wrong(key: &'static str, wanted: &'static str, entry: &Entry) -> DomainFileError {
    DomainFileError::Value { place: entry.place, key, wanted }
}

fn word<'a>(key: &'static str, wanted: &'static str, entry: &'a Entry) -> Result<&'a str, DomainFileError> {
    entry.value.as_scalar().map(Scalar::written).ok_or_else(|| wrong(key, wanted, entry))
}

fn words(key: &'static str, entry: &Entry) -> Result<Vec<String>, DomainFileError> {
    let not_a_list = || wrong(key, "a list of words", entry);
    let Value::Sequence(list) = &entry.value else { return Err(not_a_list()) };
    let word = |item: &Value| item.as_scalar().map(|scalar| scalar.written().to_owned());
    list.items.iter().map(|item| word(item).ok_or_else(not_a_list)).collect()
}

fn truth(key: &'static str, entry: &Entry) -> Result<bool, DomainFileError> {
    match entry.value.as_scalar() {
        Some(scalar) if scalar.kind == Kind::Bool => Ok(scalar.text == "true"),
        _ => Err(wrong(key, "`true` or `false`", entry)),
    }
}

fn length(entry: &Entry) -> Result<u64, DomainFileError> {
    let number = entry.value.as_scalar().filter(|scalar| scalar.kind == Kind::Int);
    let number = number.and_then(|scalar| scalar.text.parse().ok());
    number.ok_or_else(|| wrong(CONTENT_LENGTH_KEY, "a whole number of bytes", entry))
}

fn digest(entry: &Entry) -> Result<BodyId, DomainFileError> {
    let wanted = "64 hexadecimal digits";
    let digits = word(CONTENT_SHA256_KEY, wanted, entry)?.to_ascii_lowercase();
    let id = (digits.len() == 64).then(|| digits.parse().ok()).flatten();
    id.ok_or_else(|| wrong(CONTENT_SHA256_KEY, wanted, entry))
}
