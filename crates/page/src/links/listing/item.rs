//! One entry of a listing. Its links are held back until its title is known, which may come after
//! them.

use crate::links::emit::{LinkEmitter, RawLink, is_web, trim};
use crate::links::link::{LinkPlace, LinkRole};
use std::borrow::Cow;

/// Maximum number of links that are held back. Further links have no title.
const MAX_PENDING_LINKS: usize = 64;

/// A link without the title of its entry yet.
#[derive(Debug)]
pub(super) struct PendingLink {
    pub(super) reference: String,
    pub(super) place: LinkPlace<'static>,
    pub(super) role: LinkRole,
    pub(super) offset: Option<u64>,
}

impl PendingLink {
    pub(super) fn text(reference: &str, element: &str, role: LinkRole, offset: Option<u64>) -> Self {
        let place = LinkPlace::Text { element: Cow::Owned(element.to_owned()) };
        Self { reference: reference.to_owned(), place, role, offset }
    }

    pub(super) fn attribute(
        reference: &str,
        (element, attribute): (&str, &str),
        role: LinkRole,
        offset: Option<u64>,
    ) -> Self {
        let own = |name: &str| Cow::Owned(name.to_owned());
        let place = LinkPlace::Attribute { element: own(element), attribute: own(attribute) };
        Self { reference: reference.to_owned(), place, role, offset }
    }
}

/// The current entry.
#[derive(Debug, Default)]
pub(super) struct ListingItem {
    pub(super) title: String,
    links: Vec<PendingLink>,
    /// The id of the entry, whether it is declared as an address, and its offset.
    pub(super) guid: Option<(String, bool, Option<u64>)>,
}

impl ListingItem {
    /// Adds a link.
    pub(super) fn push(&mut self, link: PendingLink, emitter: &mut LinkEmitter<'_>) {
        if self.links.len() >= MAX_PENDING_LINKS {
            self.flush(emitter);
        }
        self.links.push(link);
    }

    /// Emits the links that were held back.
    pub(super) fn flush(&mut self, emitter: &mut LinkEmitter<'_>) {
        let title = Some(self.title.as_str());
        for link in self.links.drain(..) {
            let title = title.filter(|_| matches!(link.role, LinkRole::Navigate | LinkRole::Feed));
            emitter.emit(RawLink::new(&link.reference, link.place, link.role).titled(title).at(link.offset));
        }
    }

    /// Completes the entry. An id that is an address is a link if the entry has no other link to
    /// it.
    pub(super) fn end(&mut self, emitter: &mut LinkEmitter<'_>) {
        if let Some((guid, is_address, offset)) = self.guid.take() {
            let mut pages = self.links.iter().filter(|link| link.role == LinkRole::Navigate).peekable();
            let alone = pages.peek().is_none();
            let said = pages.any(|link| trim(&link.reference) == trim(&guid));
            if is_web(trim(&guid)) && (alone || is_address && !said) {
                self.push(PendingLink::text(&guid, "guid", LinkRole::Navigate, offset), emitter);
            }
        }
        self.flush(emitter);
        self.title.clear();
    }
}
