//! The names of bodies: from a revision's id to a file, in each of the three layouts, and back.
//!
//! Names only; nothing is opened. An id below 1 has no name, since Crystal gives none and a minus
//! in a path is a stranger's doing. In the tree the id is 15 hexadecimal digits in groups of three;
//! in packs the last digit is left out, so that sixteen neighbours share one file.

use std::path::{Path, PathBuf};

use crate::ids::RevisionId;

/// The largest id that the tree of folders can hold.
pub const MAX_TREE_ID: i64 = (1 << 60) - 1;

/// The name of a body in the flat layout, below `revisions`.
pub fn flat_name(id: RevisionId) -> Option<String> {
    (id.get() >= 1).then(|| id.to_string())
}

/// The path of a body in the tree, below `revisions`.
pub fn tree_path(id: RevisionId) -> Option<PathBuf> {
    (1..=MAX_TREE_ID).contains(&id.get()).then(|| {
        let digits = format!("{id:015x}", id = id.get());
        let mut path = String::with_capacity(19);
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && at % 3 == 0 {
                path.push('/');
            }
            path.push(digit);
        }
        PathBuf::from(path)
    })
}

/// The path of the pack that holds a body, below `revisions`, and the body's name in it.
pub fn pack_path(id: RevisionId) -> Option<(PathBuf, String)> {
    let loose = tree_path(id)?;
    let leaf = format!("{:03x}", id.get() & 0xfff);
    Some((loose.with_file_name(format!("{}_.zip", &leaf[..2])), leaf))
}

/// The id whose body has this name in the flat layout.
pub(crate) fn id_of_flat_name(name: &str) -> Option<RevisionId> {
    let id = RevisionId(name.parse().ok()?);
    (flat_name(id).as_deref() == Some(name)).then_some(id)
}

/// The number that three hexadecimal digits are, as folders and bodies of the tree are named.
pub(crate) fn tree_digits(name: &str) -> Option<i64> {
    let well_formed = name.len() == 3 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    well_formed.then(|| i64::from_str_radix(name, 16).ok()).flatten()
}

/// The first two digits of the ids in a pack of this name.
pub(crate) fn pack_digits(name: &str) -> Option<i64> {
    let digits = name.strip_suffix("_.zip").or_else(|| name.strip_suffix("_.zip.replacing"))?;
    tree_digits(&format!("{digits}0")).filter(|_| digits.len() == 2)
}

/// The name that a pack has while another takes its place.
pub(crate) fn replacing(pack: &Path) -> PathBuf {
    let mut name = pack.as_os_str().to_owned();
    name.push(".replacing");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_outside_of_the_tree_have_no_place_in_it() {
        for id in [0, -1, i64::MIN] {
            assert_eq!(flat_name(RevisionId(id)), None);
            assert_eq!(tree_path(RevisionId(id)), None);
        }
        assert_eq!(tree_path(RevisionId(MAX_TREE_ID + 1)), None);
        assert_eq!(pack_path(RevisionId(i64::MAX)), None);
        assert_eq!(flat_name(RevisionId(i64::MAX)).as_deref(), Some("9223372036854775807"));
    }

    #[test]
    fn names_that_no_body_has_are_not_read_as_ids() {
        for name in ["", "01", "+1", "-1", "0", "1.zip", "9223372036854775808", "１"] {
            assert_eq!(id_of_flat_name(name), None, "{name}");
        }
        for name in ["", "1", "00A", "0000", "00g", "00_", "+01"] {
            assert_eq!(tree_digits(name), None, "{name}");
        }
        assert_eq!(pack_digits("0f_.zip"), Some(0xf0));
        assert_eq!(pack_digits("0f_.zip.replacing"), Some(0xf0));
        assert_eq!(pack_digits("0ff_.zip"), None);
        assert_eq!(pack_digits("_.zip"), None);
    }

    proptest! {
        #[test]
        fn names_lead_back_to_their_ids(id in 1..=MAX_TREE_ID) {
            let id = RevisionId(id);
            prop_assert_eq!(id_of_flat_name(&flat_name(id).unwrap()), Some(id));
            let path = tree_path(id).unwrap();
            let back = path.iter().fold(0, |sum, part| sum << 12 | tree_digits(part.to_str().unwrap()).unwrap());
            prop_assert_eq!(back, id.get());
            let (pack, entry) = pack_path(id).unwrap();
            prop_assert_eq!(pack.parent(), path.parent());
            let digits = pack_digits(pack.file_name().unwrap().to_str().unwrap());
            prop_assert_eq!(digits, tree_digits(&entry).map(|low| low & !0xf));
        }
    }
}
