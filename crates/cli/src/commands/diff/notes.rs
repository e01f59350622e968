//! What is said of one page of a diff beside its lines: how much changed, and what could not be compared.

use varve_archive::BodyTrouble;
use varve_archive::verbs::diff::{Body, Change, Comparison, PageDiff, RedactedSide};

use crate::printer::{BAD, GOOD, counted, visible};
use crate::troubles::WHY_NOT_HERE;

/// How a page is answered otherwise, if it is.
pub(super) fn status_note(page: &PageDiff<'_>) -> Option<String> {
    let (base, head) = (page.pair.base.as_ref()?, page.pair.head.as_ref()?);
    (base.status != head.status).then(|| format!("Status: {} → {}.", base.status, head.status))
}

/// Where a page was before its site moved, if it did.
pub(super) fn moved(page: &PageDiff<'_>) -> Option<String> {
    page.pair.moved().map(|[base, _]| format!("It was {}.", visible(base)))
}

/// Which side was not captured whole, if one was not.
pub(super) fn cut_short(page: &PageDiff<'_>) -> Option<String> {
    let which = match page.cut_short() {
        [false, false] => return None,
        [true, true] => "answers of both versions were",
        [true, false] => "answer of the older version was",
        [false, true] => "answer of the newer version was",
    };
    Some(format!("The {which} cut short: what is missing at the end may never have come."))
}

/// Why the bodies of a page were not compared, if they were not.
pub(super) fn not_compared(page: &PageDiff<'_>) -> Option<String> {
    let is_compared = page.comparison.is_some_and(|comparison| !matches!(comparison.body, Body::Unread));
    if is_compared {
        return None;
    }
    let reasons = match page.trouble {
        [None, None] => vec!["The page is too long to be compared.".to_owned()],
        [Some(older), Some(newer)] if older == newer => {
            vec![format!("The bodies of both versions are {}", matter(older))]
        }
        sides => {
            let told = |(side, trouble): (&str, Option<BodyTrouble>)| {
                Some(format!("The body of the {side} version is {}", matter(trouble?)))
            };
            ["older", "newer"].into_iter().zip(sides).filter_map(told).collect()
        }
    };
    Some(reasons.join(" "))
}

/// What is the matter with a body, as the rest of a sentence.
fn matter(trouble: BodyTrouble) -> String {
    match trouble {
        BodyTrouble::Missing => format!("not here; {WHY_NOT_HERE}."),
        BodyTrouble::Damaged => "damaged; `varve audit` names the damage.".to_owned(),
        BodyTrouble::Unreadable(kind) => format!("not to be read: {kind}."),
    }
}

/// How much of a page changed.
pub(super) fn amount(page: &PageDiff<'_>, all: bool) -> String {
    let mut parts: Vec<String> =
        page.pair.moved().map(|[base, _]| format!("was {}", visible(base))).into_iter().collect();
    if let (Some(base), Some(head)) = (&page.pair.base, &page.pair.head)
        && base.status != head.status
    {
        parts.push(format!("status {} → {}", base.status, head.status));
    }
    let Some(comparison) = page.comparison else { return not_compared(page).unwrap_or_default() };
    match (&comparison.body, comparison.lines_changed(all)) {
        (Body::Binary(from, to), _) => parts.push(format!("{} → {} bytes", from.length, to.length)),
        (_, Some((added, removed))) if added + removed > 0 => {
            parts.push(format!("{GOOD}+{added}{GOOD:#} {BAD}-{removed}{BAD:#}"));
        }
        (Body::Letters(diff), _) => parts.push(counted(diff.chunks.len() as u64, "chunk")),
        (Body::Dom(dom), _) => parts.push(counted(dom.shown(all).count() as u64, "node")),
        _ => {}
    }
    let headers = comparison.headers_changed(all) as u64;
    if page.change == Change::Changed && headers > 0 {
        parts.push(counted(headers, "header") + &redacted(comparison, all));
    }
    parts.extend(match page.cut_short() {
        [false, false] => None,
        [true, true] => Some("both cut short".to_owned()),
        [true, false] => Some("the older cut short".to_owned()),
        [false, true] => Some("the newer cut short".to_owned()),
    });
    parts.extend(not_compared(page));
    parts.join(", ")
}

/// Which of the headers that came or went are known by their names alone.
fn redacted(comparison: &Comparison<'_>, all: bool) -> String {
    let sign = |side| if side == RedactedSide::Removed { '-' } else { '+' };
    let names: Vec<String> =
        comparison.redacted_changes(all).map(|(name, side)| format!("{}{name}", sign(side))).collect();
    if names.is_empty() { String::new() } else { format!(" (redacted: {})", names.join(", ")) }
}
