//! `score`: how exposed the pages of a version are, why, and which changes made it so.
//!
//! Every page is scored; the score of a version is that of its most exposed page. Against the parent, the change of that number is
//! shared out among the chunks of the diff of the page that moved it. What is found is written down as it is: a fact in an archive, rows in a
//! Moku site, so that it stays what it was when rules change.

use varve_catalog::{Attribution, Evidence, Row, Score};
use varve_core::diff::moku;
use varve_core::fact::media_type;
use varve_core::history::Capture;
use varve_core::{Moment, VersionId};
use varve_page::score::attribution::{Chunk, Movement, PagePair, Share, attribute};
use varve_page::score::rows::{AttributionRow, EvidenceLocationRow, VersionScore, attribution_rows};
use varve_page::score::{
    Limits, Pack, Page, explain, explain_change, explain_makers, explain_others, explain_security,
    score as score_page,
};

use crate::body_trouble::{BodyTrouble, Troubles};
use crate::error::ArchiveError;
use crate::history::{Change, HistoryWriter, Holdings, Loaded, Pair, Pairs};
use crate::rows::row_of_score;

pub use varve_page::score::PageScore;
pub use varve_page::score::security::SecurityDiff;

/// A version with its score.
pub struct Scored {
    /// What is kept of it.
    pub row: Score,
    /// The version that it was compared with.
    pub parent: Option<VersionId>,
    /// The score of the most exposed page of the parent.
    pub before: Option<u8>,
    /// The URL of that page.
    pub most_exposed_before: Option<String>,
    /// The URL of the page that makes the score: the most exposed.
    pub most_exposed: String,
    /// By how much the score moved since the parent, before it is rounded; the contributions of all attributions add up to it.
    pub change: Option<f64>,
    /// Every page, the most exposed first.
    pub pages: Vec<PageScore>,
    /// The path of the page that each attribution is about.
    pub attributed: Vec<String>,
    /// What moved the score since the parent, in sentences, the greatest movement first.
    pub moves: Vec<String>,
    /// Which page made the score in the parent, in a sentence, if it was another.
    pub makers: Option<String>,
    /// Pages that moved and do not make the score, in a sentence, if there are any.
    pub others: Option<String>,
    /// What changed in exposure and protection since the parent, page by page, whether or not it moved a score.
    pub changes: Vec<SecurityDiff>,
    /// Pages that were not scored, or not held against the parent, because a body cannot be had.
    pub troubles: Troubles,
    /// Pages that count as new because the body that the parent had is not here.
    pub uncompared: Troubles,
}

impl Scored {
    /// Why a page has its score, in sentences.
    pub fn explain(page: &PageScore) -> Vec<String> {
        explain(page, Pack::exposure_1())
    }

    /// What changed in exposure and protection since the parent, in sentences, the worst first.
    pub fn explain_changes(&self) -> Vec<String> {
        explain_security(&self.changes)
    }
}

/// Scores a version, and keeps the score.
pub fn score(
    history: &dyn HistoryWriter,
    version: VersionId,
    progress: &dyn Fn(u64),
) -> Result<Scored, ArchiveError> {
    let mut scored = compute(history.as_holdings(), version, history.now(), progress)?;
    // Through its own bytes, as a rebuild would make it.
    let json = serde_json::to_vec(&scored.row).expect("a score can be written as JSON");
    let fact = serde_json::from_slice(&json).expect("what was written as JSON is JSON");
    let row = row_of_score(&fact).expect("a score is read as it was written");
    let kept = history.catalog().scores(&version)?;
    if let Some(kept) = kept.into_iter().find(|kept| says_the_same(kept, &row)) {
        scored.row = kept;
        return Ok(scored);
    }
    history.keep_fact(&format!("urn:uuid:{version}"), media_type::SCORE, &json)?;
    history.apply(vec![Row::Score(Box::new(row))])?;
    Ok(scored)
}

/// Whether two scores differ at most in when they were computed. What is kept already is not written down again.
fn says_the_same(one: &Score, other: &Score) -> bool {
    let timeless =
        |score: &Score| Score { json: String::new(), time: Moment::from_seconds(0), ..score.clone() };
    let whole = |score: &Score| {
        let mut json: serde_json::Value = serde_json::from_str(&score.json).ok()?;
        for place in ["/timestamp", "/attack_surface/collected_at"] {
            json.pointer_mut(place).map(serde_json::Value::take);
        }
        Some(json)
    };
    timeless(one) == timeless(other) && whole(one).is_some() && whole(one) == whole(other)
}

/// Scores a version, and keeps nothing.
pub fn compute(
    holdings: &dyn Holdings,
    version: VersionId,
    now: Moment,
    progress: &dyn Fn(u64),
) -> Result<Scored, ArchiveError> {
    let info = super::show::version(holdings, &version)?;
    let parent = info.version.parent;
    let scorer = Scorer { holdings, now, head: version, base: parent };
    let found = scorer.all(progress)?;
    let has_bodies = !found.has_pages || found.troubles.count(|_| true) == 0;
    let missing = found.troubles.count(|one| one != BodyTrouble::Missing) == 0;
    let scored = VersionScore::new(found.pages).ok_or(match has_bodies {
        true => ArchiveError::NoPages { version },
        false => ArchiveError::NoBodies { version, missing },
    })?;
    // A version without a parent has no change: all of it is new.
    let moved = if parent.is_some() { found.moved } else { Vec::new() };
    let pairs: Vec<PagePair<'_>> = moved.iter().map(Moves::as_pair).collect();
    let movement = attribute(&pairs, found.same.as_ref().filter(|_| parent.is_some()));
    let rows = attributions(parent, version, &pairs, &movement.shares, now);
    let (attributed, attributions) = rows.into_iter().unzip();
    let mut pages = scored.pages().to_vec();
    pages.sort_by(|one, other| other.score.total_cmp(&one.score));
    Ok(Scored {
        row: row(&scored, version, now, attributions),
        parent,
        before: movement.base.map(|page| page.normalized),
        most_exposed_before: movement.base.map(|page| page.url.clone()),
        most_exposed: most_exposed(&scored, &movement),
        change: movement.base.map(|_| movement.change()),
        pages,
        attributed,
        moves: explain_change(&pairs, &movement),
        makers: explain_makers(&pairs, &movement),
        others: explain_others(&pairs, &movement),
        changes: pairs.iter().filter_map(security_diff).filter(|diff| !diff.is_empty()).collect(),
        troubles: found.troubles,
        uncompared: found.uncompared,
    })
}

/// The page that makes the score; of several that could, the one that made it before.
fn most_exposed(scored: &VersionScore, movement: &Movement<'_>) -> String {
    movement.head.unwrap_or_else(|| scored.most_exposed()).url.clone()
}

/// All pages of a version and its parent, scored.
#[derive(Default)]
struct Found {
    /// Whether the version has any, scored or not.
    has_pages: bool,
    /// The pages of the version.
    pages: Vec<PageScore>,
    /// Pages that differ, before and after.
    moved: Vec<Moves>,
    /// The most exposed of those that do not.
    same: Option<PageScore>,
    troubles: Troubles,
    /// Pages that count as new because what they were is not here.
    uncompared: Troubles,
}

impl Found {
    fn add(&mut self, moves: Moves) {
        self.pages.extend(moves.head.clone());
        if !moves.is_same {
            return self.moved.push(moves);
        }
        let highest = self.same.as_ref().map(|page| page.score);
        if let Some(page) = moves.head.filter(|page| highest.is_none_or(|highest| page.score > highest)) {
            self.same = Some(page);
        }
    }
}

/// A page before and after, scored.
struct Moves {
    base: Option<PageScore>,
    head: Option<PageScore>,
    chunks: Vec<Chunk>,
    /// Nothing differs, so the base was not scored again.
    is_same: bool,
    /// A body cannot be had: of the head, nothing can be said of the page; of the base, not how it came to be so.
    trouble: Option<BodyTrouble>,
    /// The page was there before, and what it was is not here: it is scored as a new one.
    lacks_base: bool,
}

impl Moves {
    /// A page of which it is not told how it changed.
    fn unmoved(head: Option<PageScore>) -> Self {
        let chunks = Vec::new();
        Self { base: None, head, chunks, is_same: true, trouble: None, lacks_base: false }
    }

    fn as_pair(&self) -> PagePair<'_> {
        PagePair { base: self.base.as_ref(), head: self.head.as_ref(), chunks: &self.chunks }
    }
}

struct Scorer<'a> {
    holdings: &'a dyn Holdings,
    now: Moment,
    head: VersionId,
    base: Option<VersionId>,
}

impl Scorer<'_> {
    fn all(&self, progress: &dyn Fn(u64)) -> Result<Found, ArchiveError> {
        let mut found = Found::default();
        for pair in Pairs::new(self.holdings.catalog(), self.base, Some(self.head)) {
            let pair = pair?;
            found.has_pages |= pair.head.is_some();
            let moves = self.pair(&pair)?;
            if let Some(trouble) = moves.trouble {
                found.troubles.add(trouble, &pair.any().url);
            }
            if moves.lacks_base {
                found.uncompared.add(BodyTrouble::Missing, &pair.any().url);
            }
            found.add(moves);
            progress(1);
        }
        Ok(found)
    }

    fn pair(&self, pair: &Pair) -> Result<Moves, ArchiveError> {
        let limits = Limits::default();
        // One byte more, so that it is noticed when there is more.
        let most = limits.body as u64 + 1;
        let head = Loaded::as_far_as_possible(self.holdings, pair.head.as_ref(), most)?;
        if head.is_bodiless() {
            return Ok(Moves { trouble: head.trouble, ..Moves::unmoved(None) });
        }
        let head_score = pair.head.as_ref().map(|page| self.page(page, &head, self.head, &limits));
        if pair.change() == Change::Unchanged {
            return Ok(Moves::unmoved(head_score));
        }
        let base = Loaded::as_far_as_possible(self.holdings, pair.base.as_ref(), most)?;
        // What was taken out on purpose counts as nothing, as it did before it went.
        if base.trouble.is_some_and(|trouble| trouble != BodyTrouble::Missing) {
            return Ok(Moves { trouble: base.trouble, ..Moves::unmoved(head_score) });
        }
        let version = self.base.unwrap_or(self.head);
        let base_score = pair.base.as_ref().map(|page| self.page(page, &base, version, &limits));
        let chunk = |chunk: &varve_core::diff::Chunk| {
            Chunk::new(chunk.base_start, chunk.base_len, chunk.head_start, chunk.head_len)
        };
        // Chunks are numbered as in the whole diff, or not at all.
        let is_whole = |page: &Loaded| !page.is_bodiless() && page.body.len() <= limits.body;
        let chunks = match is_whole(&base) && is_whole(&head) {
            true => {
                // Evidence has its places in the bytes of a body, so the chunks need theirs there too.
                let diff = moku::body_diff("", "", &base.body, &head.body);
                moku::in_bytes(diff, &base.body, &head.body).chunks.iter().map(chunk).collect()
            }
            false => Vec::new(),
        };
        let lacks_base = base.is_bodiless() && head_score.is_some();
        let moves = Moves { base: base_score, head: head_score, chunks, ..Moves::unmoved(None) };
        Ok(Moves { is_same: false, lacks_base, ..moves })
    }

    fn page(&self, capture: &Capture, loaded: &Loaded, version: VersionId, limits: &Limits) -> PageScore {
        let page = Page {
            url: &capture.url,
            file_path: &capture.path,
            snapshot_id: &capture.id.to_string(),
            version_id: &version.to_string(),
            status: capture.status,
            headers: &loaded.headers,
            body: &loaded.body,
            time: self.now.utc(),
        };
        score_page(&page, Pack::exposure_1(), limits)
    }
}

fn security_diff(pair: &PagePair<'_>) -> Option<SecurityDiff> {
    SecurityDiff::between(Pack::exposure_1(), pair.base, pair.head)
}

fn row(scored: &VersionScore, version: VersionId, time: Moment, attributions: Vec<Attribution>) -> Score {
    let row = scored.row(time.seconds());
    Score {
        version,
        scoring_version: row.scoring_version,
        score: row.score,
        normalized: row.normalized,
        confidence: row.confidence,
        json: row.score_json,
        time,
        evidence: scored.evidence_rows(time.seconds()).into_iter().map(evidence).collect(),
        attributions,
    }
}

fn evidence(row: EvidenceLocationRow) -> Evidence {
    let range = |start: Option<usize>, end: Option<usize>| Some((start? as u64, end? as u64));
    Evidence {
        evidence_id: row.evidence_id.to_string(),
        evidence_index: i64::try_from(row.evidence_index).unwrap_or(i64::MAX),
        location_index: row.location_index,
        key: row.evidence_key.to_owned(),
        selector: row.selector,
        file_path: Some(row.file_path),
        bytes: range(row.byte_start, row.byte_end),
        lines: range(row.line_start, row.line_end),
        confidence: None,
        evidence_json: row.evidence_json,
        location_json: row.location_json,
    }
}

fn attributions(
    base: Option<VersionId>,
    head: VersionId,
    pairs: &[PagePair<'_>],
    shares: &[Share],
    now: Moment,
) -> Vec<(String, Attribution)> {
    let path = |pair: &PagePair<'_>| pair.head.or(pair.base).map(|page| page.file_path.clone());
    let one = |row: AttributionRow| Attribution {
        base,
        evidence_id: row.evidence_id.to_string(),
        location_index: row.evidence_location_index.unwrap_or(-1),
        chunk_index: row.chunk_index,
        key: row.evidence_key.to_owned(),
        evidence_json: row.evidence_json,
        location_json: row.location_json,
        contribution: row.contribution,
        percent: row.contribution_pct,
        note: Some(row.note),
    };
    let rows = attribution_rows("", &head.to_string(), Pack::exposure_1(), pairs, shares, now.seconds());
    let with_path = |row: AttributionRow| {
        let page = pairs.get(row.page).and_then(path).unwrap_or_default();
        (page, one(row))
    };
    rows.into_iter().map(with_path).collect()
}
