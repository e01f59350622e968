//! Which form of a page is which form of its next version.
//!
//! Forms are known by action and method. One whose action changed is still the same form to whoever fills it in, and
//! where it sends to now is what matters: so what is left over on both sides is paired by id, then by the names it asks
//! for, then by asking for a password.

use crate::surface::{Form, Surface};
use std::collections::BTreeMap;

/// What a form is known by.
type Key<'a> = (&'a str, &'a str);

impl Form {
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
pub(crate) fn forms_by_key(surface: &Surface) -> BTreeMap<Key<'_>, Vec<&Form>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for form in &surface.forms {
        found.entry(form.key()).or_default().push(form);
    }
    found
}

/// What became of forms that only one side knows.
pub(crate) struct Paired<'a> {
    /// The same form with another action or method, before and after.
    pub(crate) moved: Vec<(&'a Form, &'a Form)>,
    /// New ones.
    pub(crate) came: Vec<&'a Form>,
    /// Those that are no more.
    pub(crate) gone: Vec<&'a Form>,
}

/// Pairs forms of which neither side knows the other's action and method.
pub(crate) fn pair_moved<'a>(gone: &[&'a Form], came: &[&'a Form]) -> Paired<'a> {
    let mut paired = Paired { moved: Vec::new(), came: came.to_vec(), gone: gone.to_vec() };
    let alike: [fn(&Form, &Form) -> bool; 3] = [
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
