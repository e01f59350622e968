//! Notes on one page of a diff: how much changed, and what could not be compared.

use varve_archive::verbs::diff::{
    BodyComparison, CaptureComparison, PageChange, PageComparison, RedactedSide,
};
use varve_archive::{BodyFailure, CaptureOwner, Moment, VersionId};

use crate::error_hints::MISSING_BODY_HINT;
use crate::printer::{BAD_STYLE, GOOD_STYLE, counted, visible};

/// The change of the status, if there is one.
pub(super) fn status_note(page: &PageComparison<'_>) -> Option<String> {
    status_change(page).map(|(base, head)| format!("Status: {base} → {head}."))
}

/// The status before and after, if it changed.
pub(super) fn status_change(page: &PageComparison<'_>) -> Option<(u16, u16)> {
    let (base, head) = (page.pair.base.as_ref()?.status, page.pair.head.as_ref()?.status);
    (base != head).then_some((base, head))
}

/// The old URL of a page that moved to another host.
pub(super) fn moved(page: &PageComparison<'_>) -> Option<String> {
    page.pair.moved().map(|[base, _]| format!("It was {}.", visible(base)))
}

/// The time of the older capture, if the older version did not make it.
pub(super) fn older_capture_time(page: &PageComparison<'_>, base: Option<VersionId>) -> Option<Moment> {
    let (capture, base) = (page.pair.base.as_ref()?, base?);
    let is_told = page.change != PageChange::Unreachable && capture.owner != CaptureOwner::Version(base);
    is_told.then_some(capture.time)
}

/// Which capture the page is compared with, if the older version did not make it.
pub(super) fn older_capture(page: &PageComparison<'_>, base: Option<VersionId>) -> Option<String> {
    let time = older_capture_time(page, base)?.for_people();
    Some(match page.change {
        PageChange::Gone | PageChange::Removed => format!("It was last captured {time}."),
        _ => format!("Compared with the capture of {time}."),
    })
}

/// Which side was truncated when it was captured.
pub(super) fn cut_short(page: &PageComparison<'_>) -> Option<String> {
    let which = match page.cut_short() {
        [false, false] => return None,
        [true, true] => "responses of both versions were",
        [true, false] => "response of the older version was",
        [false, true] => "response of the newer version was",
    };
    Some(format!("The {which} truncated when captured; the end may be missing."))
}

/// Why the bodies were not compared, if they were not.
pub(super) fn not_compared(page: &PageComparison<'_>) -> Option<String> {
    let is_compared =
        page.comparison.is_some_and(|comparison| !matches!(comparison.body, BodyComparison::Unread));
    if is_compared {
        return None;
    }
    if let (PageChange::Unreachable, [_, Some(reason)]) = (page.change, page.pair.unreachable()) {
        let time = page.pair.any().time;
        return Some(format!("It could not be reached: {}. The page is of {time}.", visible(reason)));
    }
    let reasons = match page.trouble {
        [None, None] => vec!["The page is too large to compare.".to_owned()],
        [Some(older), Some(newer)] if older == newer => {
            vec![format!("The bodies of both versions are {}", matter(older))]
        }
        sides => {
            let text = |(side, trouble): (&str, Option<BodyFailure>)| {
                Some(format!("The body of the {side} version is {}", matter(trouble?)))
            };
            ["older", "newer"].into_iter().zip(sides).filter_map(text).collect()
        }
    };
    Some(reasons.join(" "))
}

/// The problem of a body, as the end of a sentence.
fn matter(trouble: BodyFailure) -> String {
    match trouble {
        BodyFailure::Missing => format!("missing; {MISSING_BODY_HINT}."),
        BodyFailure::Damaged => "damaged; `varve audit` lists the damage.".to_owned(),
        BodyFailure::Unreadable(kind) => format!("unreadable: {kind}."),
    }
}

/// How much of a page changed.
pub(super) fn amount(page: &PageComparison<'_>, all: bool) -> String {
    let mut parts: Vec<String> =
        page.pair.moved().map(|[base, _]| format!("was {}", visible(base))).into_iter().collect();
    parts.extend(status_change(page).map(|(base, head)| format!("status {base} → {head}")));
    let Some(comparison) = page.comparison else { return not_compared(page).unwrap_or_default() };
    match (&comparison.body, comparison.lines_changed(all)) {
        (BodyComparison::Binary(from, to), _) if comparison.is_one_sided => {
            parts.push(format!("{} bytes", from.length.max(to.length)));
        }
        (BodyComparison::Binary(from, to), _) => parts.push(format!("{} → {} bytes", from.length, to.length)),
        (_, Some((added, removed))) if added + removed > 0 => {
            parts.push(format!("{GOOD_STYLE}+{added}{GOOD_STYLE:#} {BAD_STYLE}-{removed}{BAD_STYLE:#}"));
        }
        (BodyComparison::Letters(diff), _) => parts.push(counted(diff.chunks.len() as u64, "chunk")),
        (BodyComparison::Dom(dom), _) => parts.push(counted(dom.shown(all).count() as u64, "node")),
        _ => {}
    }
    let headers = comparison.headers_changed(all) as u64;
    if page.change == PageChange::Changed && headers > 0 {
        parts.push(counted(headers, "header") + &redacted(comparison, all));
    }
    parts.extend(match page.cut_short() {
        [false, false] => None,
        [true, true] => Some("both truncated".to_owned()),
        [true, false] => Some("the older truncated".to_owned()),
        [false, true] => Some("the newer truncated".to_owned()),
    });
    parts.extend(not_compared(page));
    parts.join(", ")
}

/// Names of redacted headers that were added or removed.
fn redacted(comparison: &CaptureComparison<'_>, all: bool) -> String {
    let sign = |side| if side == RedactedSide::Removed { '-' } else { '+' };
    let names: Vec<String> =
        comparison.redacted_changes(all).map(|(name, side)| format!("{}{name}", sign(side))).collect();
    if names.is_empty() { String::new() } else { format!(" (redacted: {})", names.join(", ")) }
}
