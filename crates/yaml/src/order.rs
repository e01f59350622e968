//! The order in which the keys of a mapping are written: sorted, if they can be compared at all.
//!
//! Texts compare by code point, numbers by size. Keys of different kinds cannot be compared, and then the order is the
//! one they were read in: that is what Python does, where comparing them fails.

use std::cmp::Ordering;

use super::value::{Entry, Kind, Mapping, Scalar};

/// The entries in the order of writing.
pub(super) fn ordered(mapping: &Mapping) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = mapping.entries.iter().collect();
    if entries.iter().all(|entry| class(entry).is_some() && class(entry) == class(entries[0])) {
        entries.sort_by(|left, right| compare(left, right));
    }
    entries
}

/// Keys of one class can be compared.
fn class(entry: &Entry) -> Option<u8> {
    let scalar = entry.key.as_scalar()?;
    match scalar.kind {
        Kind::Text => Some(0),
        Kind::Bool | Kind::Int | Kind::Float => Some(1),
        Kind::Binary => Some(2),
        Kind::Timestamp => Some(match (scalar.text.len(), offset(&scalar.text)) {
            (10, _) => 3,
            (_, None) => 4,
            (_, Some(_)) => 5,
        }),
        Kind::Null | Kind::Plain | Kind::Tagged(_) => None,
    }
}

fn offset(time: &str) -> Option<usize> {
    time.get(11..).and_then(|rest| rest.find(['+', '-']))
}

fn compare(left: &Entry, right: &Entry) -> Ordering {
    match (left.key.as_scalar(), right.key.as_scalar()) {
        (Some(left), Some(right)) if left.kind == Kind::Int && right.kind == Kind::Int => {
            integers(&left.text, &right.text)
        }
        (Some(left), Some(right)) if matches!(left.kind, Kind::Bool | Kind::Int | Kind::Float) => {
            size(left).total_cmp(&size(right))
        }
        (Some(left), Some(right)) => left.text.cmp(&right.text),
        _ => Ordering::Equal,
    }
}

fn integers(left: &str, right: &str) -> Ordering {
    let by_size = |left: &str, right: &str| left.len().cmp(&right.len()).then_with(|| left.cmp(right));
    match (left.strip_prefix('-'), right.strip_prefix('-')) {
        (Some(left), Some(right)) => by_size(right, left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => by_size(left, right),
    }
}

fn size(scalar: &Scalar) -> f64 {
    match scalar.text.as_str() {
        "true" => 1.0,
        "false" => 0.0,
        ".inf" => f64::INFINITY,
        "-.inf" => f64::NEG_INFINITY,
        text => text.parse().unwrap_or(f64::NAN),
    }
}
