//! Pairs the forms of two versions of a page.
//!
//! The key of a form is its action and method. A form whose action changed is the same form to
//! users, and its new target matters. So forms without an equal key are paired by id, then by the
//! names of inputs, then by a password input.

use crate::surface::{AttackSurface, PageForm};
use std::collections::BTreeMap;

/// The key of a form.
type Key<'a> = (&'a str, &'a str);

impl PageForm {
    /// Action and method, as written.
    pub(crate) fn key(&self) -> Key<'_> {
        (self.action.as_str(), self.method.as_str())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().map(|input| input.name.as_str())
    }

    fn asks_for_password(&self) -> bool {
        self.inputs.iter().any(|input| input.kind == "password")
    }
}

/// Forms by action and method.
pub(crate) fn forms_by_key(surface: &AttackSurface) -> BTreeMap<Key<'_>, Vec<&PageForm>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for form in &surface.forms {
        found.entry(form.key()).or_default().push(form);
    }
    found
}

/// The forms whose keys only one side has.
pub(crate) struct Paired<'a> {
    /// The same form with another action or method, before and after.
    pub(crate) moved: Vec<(&'a PageForm, &'a PageForm)>,
    /// New ones.
    pub(crate) came: Vec<&'a PageForm>,
    /// Removed ones.
    pub(crate) gone: Vec<&'a PageForm>,
}

/// Pairs forms without an equal key.
pub(crate) fn pair_moved<'a>(gone: &[&'a PageForm], came: &[&'a PageForm]) -> Paired<'a> {
    let mut paired = Paired { moved: Vec::new(), came: came.to_vec(), gone: gone.to_vec() };
    let alike: [fn(&PageForm, &PageForm) -> bool; 3] = [
        |was, is| !is.dom_id.is_empty() && was.dom_id == is.dom_id,
        |was, is| !is.inputs.is_empty() && was.names().eq(is.names()),
        |was, is| was.asks_for_password() && is.asks_for_password(),
    ];
    for is_same in alike {
        let (moved, gone) = (&mut paired.moved, &mut paired.gone);
        paired.came.retain(|is| {
            let found = gone.iter().position(|was| is_same(was, is));
            moved.extend(found.map(|at| (gone.remove(at), *is)));
            found.is_none()
        });
    }
    paired
}
