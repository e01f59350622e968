//! Which version brought each item of a list: a passage of a text, or a line of a source.
//!
//! An item is known by its content. One that was moved, or was removed and came back, belongs to the
//! first list that had it. The second copy of an item belongs to the first list that had two.

use std::collections::HashMap;
use std::hash::Hash;

/// An item with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributed<T> {
    /// The item.
    pub item: T,
    /// The number of the list that brought it.
    pub origin: usize,
}

/// Attributes the items of the last of several lists, oldest first. Reads each list once, and holds
/// one list and the different items of all. An error among the lists is returned.
pub fn attribute<T: Eq + Hash + Clone, E>(
    lists: impl IntoIterator<Item = Result<Vec<T>, E>>,
) -> Result<Vec<Attributed<T>>, E> {
    // For each item, the list that first had it once, twice, and on.
    let mut origins: HashMap<T, Vec<usize>> = HashMap::new();
    let mut last = Vec::new();
    for (number, list) in lists.into_iter().enumerate() {
        let list = list?;
        let mut copies: HashMap<&T, usize> = HashMap::new();
        for item in &list {
            let copy = copies.entry(item).or_default();
            *copy += 1;
            match origins.get_mut(item) {
                Some(known) if known.len() < *copy => known.push(number),
                Some(_) => {}
                None => drop(origins.insert(item.clone(), vec![number])),
            }
        }
        last = list;
    }
    let mut copies: HashMap<T, usize> = HashMap::new();
    let attributed = last.into_iter().map(|item| {
        let copy = copies.entry(item.clone()).or_default();
        let origin = origins.get(&item).and_then(|known| known.get(*copy)).copied().unwrap_or_default();
        *copy += 1;
        Attributed { item, origin }
    });
    Ok(attributed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn origins(lists: &[&str]) -> String {
        let lists = lists.iter().map(|list| Ok::<_, Infallible>(list.chars().collect()));
        attribute(lists).unwrap().iter().map(|one| format!("{}{}", one.item, one.origin)).collect()
    }

    #[test]
    fn items_keep_their_origin_when_they_move_or_return() {
        assert_eq!(origins(&["abc", "abxc", "xcab"]), "x1c0a0b0");
        assert_eq!(origins(&["abc", "bc", "abc"]), "a0b0c0");
        assert_eq!(origins(&["aa", "aaa", "a", "aaa"]), "a0a0a1");
        assert_eq!(origins(&["a", "b"]), "b1");
        assert_eq!(origins(&["a", ""]), "");
        assert_eq!(origins(&[]), "");
    }

    #[test]
    fn an_error_among_the_lists_is_returned() {
        assert_eq!(attribute([Ok(vec!['a']), Err("unreadable"), Ok(vec!['a'])]), Err("unreadable"));
    }
}
