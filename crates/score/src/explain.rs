//! The score in sentences.
//!
//! Owns the order of the sentences: the score and its parts first, then the evidence with the most
//! points. The words for each rule are in the pack.

use crate::PageScore;
use crate::attribution::{EvidenceRef, PagePair, ScoreMovement, ScoreShare, ShareCause, exceeds};
use crate::changes::SurfaceChange;
use crate::evidence::ExposureEvidence;
use crate::rule_pack::RulePack;
use crate::security::SecurityDiff;
use crate::sentence::{fill_sentence, printable};

/// Maximum number of places that are named. Further ones are counted.
const MAX_NAMED_PLACES: usize = 3;
/// Maximum number of pages between two versions, and of changes of each page. Further ones are
/// counted.
const MAX_LISTED_PAGES: usize = 10;
const MAX_LISTED_CHANGES: usize = 12;

/// Why a page has its score, in sentences.
pub fn explain(score: &PageScore, pack: &RulePack) -> Vec<String> {
    let mut sentences = vec![headline(score)];
    sentences.extend(caveats(score));
    let mut evidence: Vec<_> = score.evidence.iter().collect();
    evidence.sort_by(|left, right| {
        let weight = |piece: &ExposureEvidence| piece.contribution;
        weight(right).total_cmp(&weight(left)).then(right.severity.cmp(&left.severity))
    });
    sentences.extend(evidence.into_iter().filter_map(|piece| tell(piece, pack)));
    sentences
}

/// Points of a rule on the scale of scores, 0 to 100.
fn on_scale(points: f64) -> f64 {
    points * 100.0
}

/// The score and its parts.
fn headline(score: &PageScore) -> String {
    let taken = score.hardening * 100.0;
    let protection = if score.hardening > 0.0 {
        format!("of which headers take off {taken:.0} %")
    } else {
        "of which headers take off nothing".to_owned()
    };
    let (url, normalized) = (printable(&score.url), score.normalized);
    let exposure = on_scale(score.exposure);
    format!("{url} scores {normalized} of 100: {exposure:.0} points of exposure, {protection}.")
}

/// Why the score may be too low.
fn caveats(score: &PageScore) -> impl Iterator<Item = String> {
    let truncated = "The page has more in it than was looked at; the score may be too low.";
    score.surface.is_truncated.then(|| truncated.to_owned()).into_iter()
}

/// A piece of evidence as a sentence, with its weight and place.
fn tell(evidence: &ExposureEvidence, pack: &RulePack) -> Option<String> {
    let sentence = &pack.rule(evidence.key)?.sentence;
    let told = fill_sentence(sentence, evidence.count, &what(evidence));
    let weight = match evidence.contribution {
        0.0 => String::new(),
        saved if evidence.exposure == 0.0 && saved < 0.005 => " It would take off less than 1.".to_owned(),
        saved if evidence.exposure == 0.0 => format!(" It would take off {:.0}.", on_scale(saved)),
        points => format!(" (+{:.0})", on_scale(points)),
    };
    let line = evidence.locations.first().and_then(|location| location.line_start);
    let place = line.map(|line| format!(" [line {line}]")).unwrap_or_default();
    Some(told + &weight + &place)
}

/// The first few places by name.
fn what(evidence: &ExposureEvidence) -> String {
    let named = evidence.locations.iter().take(MAX_NAMED_PLACES).map(|location| printable(&location.told()));
    let mut names: Vec<_> = named.collect();
    names.dedup();
    let left = evidence.count.saturating_sub(MAX_NAMED_PLACES);
    if left > 0 {
        names.push(format!("{left} more"));
    }
    names.join(", ")
}

/// The changes in exposure and protection between two versions in sentences, the worst pages first.
pub fn explain_security(diffs: &[SecurityDiff]) -> Vec<String> {
    let mut pages: Vec<_> = diffs.iter().map(|diff| (diff, diff.worst_first())).collect();
    pages.retain(|(_, changes)| !changes.is_empty());
    pages.sort_by(|(_, left), (_, right)| {
        let weight = |changes: &[&SurfaceChange]| changes.iter().map(|change| change.score).sum::<f64>();
        let worst = |changes: &[&SurfaceChange]| changes.first().map(|change| change.severity);
        worst(right).cmp(&worst(left)).then(weight(right).total_cmp(&weight(left)))
    });
    let mut sentences: Vec<String> =
        pages.iter().take(MAX_LISTED_PAGES).flat_map(|(diff, changes)| tell_page(diff, changes)).collect();
    match pages.len().saturating_sub(MAX_LISTED_PAGES) {
        0 => {}
        1 => sentences.push("1 more page changed, no worse.".to_owned()),
        left => sentences.push(format!("{left} more pages changed, none of them worse.")),
    }
    sentences
}

/// The changes of a page as sentences.
fn tell_page(diff: &SecurityDiff, changes: &[&SurfaceChange]) -> Vec<String> {
    let url = printable(&diff.url);
    if diff.head_version_id.is_empty() {
        return vec![format!("{url}: The page is gone, and what it exposed with it.")];
    }
    let new = match () {
        () if diff.base_version_id.is_empty() => " (new page)",
        () if !diff.bodies_compared => " (headers only)",
        () => "",
    };
    let told = changes.iter().take(MAX_LISTED_CHANGES).map(|change| format!("{url}{new}: {}", change.detail));
    let left = changes.len().saturating_sub(MAX_LISTED_CHANGES);
    told.chain((left > 0).then(|| format!("{url}{new}: {left} more changes."))).collect()
}

/// What moved the score between two versions in sentences, the largest movement first.
pub fn explain_change(pairs: &[PagePair<'_>], movement: &ScoreMovement<'_>) -> Vec<String> {
    movement.shares.iter().filter_map(|share| tell_share(pairs.get(share.page)?, share)).collect()
}

/// The page that determined the score and the page that determines it now, if they differ.
pub fn explain_makers(pairs: &[PagePair<'_>], movement: &ScoreMovement<'_>) -> Option<String> {
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

/// Pages whose scores moved without determining the score of the version.
pub fn explain_others(pairs: &[PagePair<'_>], movement: &ScoreMovement<'_>) -> Option<String> {
    // Compared by pointer, because several pages may have one URL.
    let is = |page: Option<&PageScore>, maker: Option<&PageScore>| {
        page.zip(maker).is_some_and(|(page, maker)| std::ptr::eq(page, maker))
    };
    let others = pairs.iter().filter(|pair| !is(pair.base, movement.base) && !is(pair.head, movement.head));
    let told: Vec<String> = others.filter_map(tell_other).collect();
    let left = told.len().saturating_sub(MAX_LISTED_PAGES);
    let mut named: Vec<String> = told.into_iter().take(MAX_LISTED_PAGES).collect();
    if left > 0 {
        named.push(format!("{left} more"));
    }
    let named = (!named.is_empty()).then(|| named.join("; "))?;
    Some(format!("Other pages, whose scores moved and do not make that of the version: {named}."))
}

/// A page whose score changed.
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
fn tell_share(pair: &PagePair<'_>, share: &ScoreShare) -> Option<String> {
    let page = pair.head.or(pair.base)?;
    let place = share.chunk.map_or("no chunk of the body".to_owned(), |chunk| format!("chunk {chunk}"));
    let moved = format!("{} ({:.1} %)", signed(share.contribution), share.percent);
    let told = match &share.cause {
        ShareCause::Came(find) => format!("new: {}", named(pair.head?, *find)?),
        ShareCause::Went(find) => format!("gone: {}", named(pair.base?, *find)?),
        ShareCause::Protection { header, directive } => {
            let part = directive.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
            let change = if share.contribution > 0.0 { "protects less" } else { "protects more" };
            return Some(format!("{moved} {}: {header}{part} {change}", printable(&page.url)));
        }
    };
    Some(format!("{moved} {}, {place}: {told}", printable(&page.url)))
}

/// A movement on the scale of scores, with two decimals. A smaller one is still shown.
fn signed(movement: f64) -> String {
    match movement.abs() < 0.000_05 {
        true if movement > 0.0 => "+less than 0.01".to_owned(),
        true => "-less than 0.01".to_owned(),
        false => format!("{:+.2}", on_scale(movement)),
    }
}

/// The description and the place of evidence.
fn named(score: &PageScore, find: EvidenceRef) -> Option<String> {
    let evidence = score.evidence.get(find.evidence)?;
    let name =
        find.location.and_then(|index| evidence.locations.get(index)).map(|place| printable(&place.told()));
    let title = &evidence.description;
    Some(name.map_or_else(|| title.clone(), |name| format!("{title}, {name}")))
}
