//! One entry of a list: its links wait for its title, which may come after them.

use crate::links::emit::{Emitter, Found, is_web, trim};
use crate::links::link::{Place, Role};
use std::borrow::Cow;

/// So many links wait; the others go without their title.
const MOST: usize = 64;

/// A link that waits for the title of its entry.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) reference: String,
    pub(super) place: Place<'static>,
    pub(super) role: Role,
    pub(super) offset: Option<u64>,
}

impl Waiting {
    pub(super) fn text(reference: &str, element: &str, role: Role, offset: Option<u64>) -> Self {
        let place = Place::Text { element: Cow::Owned(element.to_owned()) };
        Self { reference: reference.to_owned(), place, role, offset }
    }

    pub(super) fn attribute(
        reference: &str,
        (element, attribute): (&str, &str),
        role: Role,
        offset: Option<u64>,
    ) -> Self {
        let own = |name: &str| Cow::Owned(name.to_owned());
        let place = Place::Attribute { element: own(element), attribute: own(attribute) };
        Self { reference: reference.to_owned(), place, role, offset }
    }
}

/// The entry that is being read.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) title: String,
    links: Vec<Waiting>,
    /// What names the entry, whether it says that this is an address, and where it stood.
    pub(super) guid: Option<(String, bool, Option<u64>)>,
}

impl Item {
    /// Adds a link.
    pub(super) fn push(&mut self, link: Waiting, emitter: &mut Emitter<'_>) {
        if self.links.len() >= MOST {
            self.flush(emitter);
        }
        self.links.push(link);
    }

    /// Hands over what waits.
    pub(super) fn flush(&mut self, emitter: &mut Emitter<'_>) {
        let title = Some(self.title.as_str());
        for link in self.links.drain(..) {
            let title = title.filter(|_| matches!(link.role, Role::Navigate | Role::Feed));
            emitter.emit(Found::new(&link.reference, link.place, link.role).titled(title).at(link.offset));
        }
    }

    /// The entry is complete: a name that is an address counts where there is no link, or none that says the same.
    pub(super) fn end(&mut self, emitter: &mut Emitter<'_>) {
        if let Some((guid, is_address, offset)) = self.guid.take() {
            let mut pages = self.links.iter().filter(|link| link.role == Role::Navigate).peekable();
            let alone = pages.peek().is_none();
            let said = pages.any(|link| trim(&link.reference) == trim(&guid));
            if is_web(trim(&guid)) && (alone || is_address && !said) {
                self.push(Waiting::text(&guid, "guid", Role::Navigate, offset), emitter);
            }
        }
        self.flush(emitter);
        self.title.clear();
    }
}
