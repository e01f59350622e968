//! The score in sentences, for people.
//!
//! Owns the order in which things are told: first the number and what it is made of, then what counts most. The words
//! for each find are the pack's.

use crate::PageScore;
use crate::attribution::{Cause, Find, Movement, PagePair, Share, exceeds};
use crate::changes::Change;
use crate::evidence::Evidence;
use crate::pack::Pack;
use crate::security::SecurityDiff;

/// So many places are named; the others are counted.
const NAMED: usize = 3;
/// So many pages are told of between two versions, and of each so many changes; the others are counted.
const TOLD_PAGES: usize = 10;
const TOLD_CHANGES: usize = 12;

/// Why a page has its score, in sentences.
pub fn explain(score: &PageScore, pack: &Pack) -> Vec<String> {
    let mut sentences = vec![headline(score)];
    sentences.extend(caveats(score));
    let mut evidence: Vec<_> = score.evidence.iter().collect();
    evidence.sort_by(|left, right| {
        let weight = |piece: &Evidence| piece.contribution;
        weight(right).total_cmp(&weight(left)).then(right.severity.cmp(&left.severity))
    });
    sentences.extend(evidence.into_iter().filter_map(|piece| tell(piece, pack)));
    sentences
}

/// The number and what it is made of.
fn headline(score: &PageScore) -> String {
    let taken = score.hardening * 100.0;
    let protection = if score.hardening > 0.0 {
        format!("of which headers take off {taken:.0} %")
    } else {
        "of which headers take off nothing".to_owned()
    };
    let (url, normalized) = (printable(&score.url), score.normalized);
    format!("{url} scores {normalized} of 100: {:.2} points of exposure, {protection}.", score.exposure)
}

/// Why the score may be too low.
fn caveats(score: &PageScore) -> impl Iterator<Item = String> {
    let truncated = "The page has more in it than was looked at; the score may be too low.";
    score.surface.is_truncated.then(|| truncated.to_owned()).into_iter()
}

/// A piece of evidence as a sentence, with its weight and place.
fn tell(evidence: &Evidence, pack: &Pack) -> Option<String> {
    let sentence = &pack.rule(evidence.key)?.sentence;
    let told = fill(sentence, evidence.count, &what(evidence));
    let weight = match evidence.contribution {
        0.0 => String::new(),
        saved if evidence.exposure == 0.0 && saved < 0.005 => " It would take off less than 0.01.".to_owned(),
        saved if evidence.exposure == 0.0 => format!(" It would take off {saved:.2}."),
        points => format!(" (+{points:.2})"),
    };
    let line = evidence.locations.first().and_then(|location| location.line_start);
    let place = line.map(|line| format!(" [line {line}]")).unwrap_or_default();
    Some(told + &weight + &place)
}

/// The first few places by name.
fn what(evidence: &Evidence) -> String {
    let named = evidence.locations.iter().take(NAMED).map(|location| printable(&location.told()));
    let mut names: Vec<_> = named.collect();
    names.dedup();
    let left = evidence.count.saturating_sub(NAMED);
    if left > 0 {
        names.push(format!("{left} more"));
    }
    names.join(", ")
}

/// A name from a page, short and without anything that a terminal would obey.
pub(crate) fn printable(name: &str) -> String {
    clean(crate::text::cut(name, 120))
}

fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// Puts words into a sentence. What is put in is not searched again.
fn fill(sentence: &str, count: usize, what: &str) -> String {
    let mut out = String::new();
    let mut rest = sentence;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix("{count}") {
            out.push_str(&count.to_string());
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix("{what}") {
            out.push_str(what);
            rest = behind;
        } else {
            out.push('{');
            rest = &rest[1..];
        }
    }
    out + rest
}

/// Puts what changed into the sentence of a change.
pub(crate) fn fill_change(sentence: &str, what: &str) -> String {
    fill(sentence, 1, &clean(crate::text::cut(what, 500)))
}

/// What changed in exposure and protection between two versions, in sentences, the pages with the worst of it first.
pub fn explain_security(diffs: &[SecurityDiff]) -> Vec<String> {
    let mut pages: Vec<_> = diffs.iter().map(|diff| (diff, diff.worst_first())).collect();
    pages.retain(|(_, changes)| !changes.is_empty());
    pages.sort_by(|(_, left), (_, right)| {
        let weight = |changes: &[&Change]| changes.iter().map(|change| change.score).sum::<f64>();
        let worst = |changes: &[&Change]| changes.first().map(|change| change.severity);
        worst(right).cmp(&worst(left)).then(weight(right).total_cmp(&weight(left)))
    });
    let mut sentences: Vec<String> =
        pages.iter().take(TOLD_PAGES).flat_map(|(diff, changes)| tell_page(diff, changes)).collect();
    match pages.len().saturating_sub(TOLD_PAGES) {
        0 => {}
        1 => sentences.push("1 more page changed, no worse.".to_owned()),
        left => sentences.push(format!("{left} more pages changed, none of them worse.")),
    }
    sentences
}

/// The changes of a page as sentences.
fn tell_page(diff: &SecurityDiff, changes: &[&Change]) -> Vec<String> {
    let url = printable(&diff.url);
    if diff.head_version_id.is_empty() {
        return vec![format!("{url}: The page is gone, and what it exposed with it.")];
    }
    let new = match () {
        () if diff.base_version_id.is_empty() => " (new page)",
        () if !diff.bodies_compared => " (headers only)",
        () => "",
    };
    let told = changes.iter().take(TOLD_CHANGES).map(|change| format!("{url}{new}: {}", change.detail));
    let left = changes.len().saturating_sub(TOLD_CHANGES);
    told.chain((left > 0).then(|| format!("{url}{new}: {left} more changes."))).collect()
}

/// What moved the score between two versions, in sentences, the greatest movement first.
pub fn explain_change(pairs: &[PagePair<'_>], movement: &Movement<'_>) -> Vec<String> {
    movement.shares.iter().filter_map(|share| tell_share(pairs.get(share.page)?, share)).collect()
}

/// Which page made the score and which makes it, where those are two.
pub fn explain_makers(pairs: &[PagePair<'_>], movement: &Movement<'_>) -> Option<String> {
    let (base, head) = (movement.base?, movement.head?);
    if movement.is_one_page {
        return None;
    }
    let told = format!(
        "The most exposed page was {}, with {}, and is {} now, with {}.",
        printable(&base.url),
        base.normalized,
        printable(&head.url),
        head.normalized
    );
    let mover = movement.mover.and_then(|index| pairs.get(index)).filter(|pair| exceeds(pair, movement));
    let url = mover.and_then(|pair| pair.head.or(pair.base)).map(|page| printable(&page.url));
    Some(match url {
        Some(url) => format!("{told} What changed on {url} counts as far as it moved the score."),
        None => told,
    })
}

/// Pages whose scores moved, and neither make nor made that of the version.
pub fn explain_others(pairs: &[PagePair<'_>], movement: &Movement<'_>) -> Option<String> {
    // Those that do are scores of these pairs, and not only equal to them: pages may have one URL.
    let is = |page: Option<&PageScore>, maker: Option<&PageScore>| {
        page.zip(maker).is_some_and(|(page, maker)| std::ptr::eq(page, maker))
    };
    let others = pairs.iter().filter(|pair| !is(pair.base, movement.base) && !is(pair.head, movement.head));
    let told: Vec<String> = others.filter_map(tell_other).collect();
    let left = told.len().saturating_sub(TOLD_PAGES);
    let mut named: Vec<String> = told.into_iter().take(TOLD_PAGES).collect();
    if left > 0 {
        named.push(format!("{left} more"));
    }
    let named = (!named.is_empty()).then(|| named.join("; "))?;
    Some(format!("Other pages, whose scores moved and do not make that of the version: {named}."))
}

/// A page whose number is another than before.
fn tell_other(pair: &PagePair<'_>) -> Option<String> {
    let url = printable(&pair.head.or(pair.base)?.url);
    match (pair.base, pair.head) {
        (Some(base), Some(head)) if base.normalized == head.normalized => None,
        (Some(base), Some(head)) => {
            Some(format!("{url}, {} before, {} now", base.normalized, head.normalized))
        }
        (None, Some(head)) if head.normalized > 0 => Some(format!("{url}, new, {} now", head.normalized)),
        (Some(base), None) if base.normalized > 0 => Some(format!("{url}, {} before, gone", base.normalized)),
        _ => None,
    }
}

/// One share as a sentence.
fn tell_share(pair: &PagePair<'_>, share: &Share) -> Option<String> {
    let page = pair.head.or(pair.base)?;
    let place = share.chunk.map_or("no chunk of the body".to_owned(), |chunk| format!("chunk {chunk}"));
    let moved = format!("{} ({:.1} %)", signed(share.contribution), share.percent);
    let told = match &share.cause {
        Cause::Came(find) => format!("new: {}", named(pair.head?, *find)?),
        Cause::Went(find) => format!("gone: {}", named(pair.base?, *find)?),
        Cause::Protection { header, directive } => {
            let part = directive.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
            let change = if share.contribution > 0.0 { "protects less" } else { "protects more" };
            return Some(format!("{moved} {}: {header}{part} {change}", printable(&page.url)));
        }
    };
    Some(format!("{moved} {}, {place}: {told}", printable(&page.url)))
}

/// A movement, always as fine. Little is more than nothing.
fn signed(movement: f64) -> String {
    match movement.abs() < 0.000_05 {
        true if movement > 0.0 => "+less than 0.0001".to_owned(),
        true => "-less than 0.0001".to_owned(),
        false => format!("{movement:+.4}"),
    }
}

/// What was found, and where.
fn named(score: &PageScore, find: Find) -> Option<String> {
    let evidence = score.evidence.get(find.evidence)?;
    let name =
        find.location.and_then(|index| evidence.locations.get(index)).map(|place| printable(&place.told()));
    let title = &evidence.description;
    Some(name.map_or_else(|| title.clone(), |name| format!("{title}, {name}")))
}
