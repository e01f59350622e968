//! `score`: computes how exposed the pages of a version are, why, and which changes caused it.
//!
//! Every page is scored; the score of a version is that of its most exposed page. The change since
//! the parent is attributed to the chunks of the diff of the page that moved the score. The result
//! is stored as a fact in an archive, or as rows in a Moku site, so it stays the same when the
//! rules change.
//!
//! An unavailable body counts as unknown, not as empty, and nothing is reported that depends on it.
//! The parent's score is then its stored one, or none, and headers are still compared. A stored
//! score is never replaced by one computed from fewer bodies.

use varve_catalog::CatalogRow;
use varve_core::fact::media_type;
use varve_core::history::{Attribution, Capture, StoredEvidenceLocation, StoredScore};
use varve_core::{Moment, VersionId};
use varve_diff::text::moku;
use varve_score::attribution::{AttributedChunk, PagePair, ScoreMovement, ScoreShare, attribute};
use varve_score::rows::{AttributionRow, EvidenceLocationRow, VersionScore, attribution_rows};
use varve_score::security::ScoredSide;
use varve_score::{
    RulePack, ScoreLimits, ScoredPage, explain, explain_change, explain_makers, explain_others,
    explain_security, score as score_page,
};

use crate::error::ArchiveError;
use varve_moku::SnapshotScore;
use varve_repository::RepositoryError;
use varve_repository::body_failure::{BodyFailure, BodyFailures};
use varve_repository::history::removal_of;
use varve_repository::history::{
    CapturePair, CapturePairs, HistoryReader, HistoryWriter, LoadedPage, PageChange,
};
use varve_repository::ordered_workers::{WorkerCount, run_in_order};
use varve_repository::rows::row_of_score;

pub use varve_score::PageScore;
pub use varve_score::security::SecurityDiff;

/// Number of pages that a thread takes at a time.
const PAGES_PER_BATCH: usize = 4;

/// A version with its score.
pub struct ScoredVersion {
    /// The stored row, or the one that would be stored.
    pub row: StoredScore,
    /// Whether it is stored.
    pub is_kept: bool,
    /// Whether bodies needed for the score are unavailable. Content purged from both the version
    /// and its parent does not count.
    pub is_lacking: bool,
    /// The URL of the most exposed page, which determines the score.
    pub most_exposed: String,
    /// Every page, the most exposed first.
    pub pages: Vec<PageScore>,
    /// Pages that were not scored because a body is unavailable.
    pub troubles: BodyFailures,
    /// The comparison with the parent.
    pub since: ScoreComparison,
}

/// How the score of a version compares with that of its parent.
pub struct ScoreComparison {
    /// The parent. `None` if the version has none.
    pub parent: Option<VersionId>,
    /// A parent that no longer exists, so that nothing is compared with it.
    pub lost_parent: Option<VersionId>,
    /// The score of the parent, if it is known.
    pub before: Option<ParentScore>,
    /// The unrounded change of the score, if it is known. The contributions of all attributions add
    /// up to it.
    pub change: Option<f64>,
    /// Whether the cause of the change is known. Otherwise there are no attributions.
    pub is_explained: bool,
    /// The path of the page of each attribution.
    pub attributed: Vec<String>,
    /// The causes of the change, in sentences, the greatest first.
    pub moves: Vec<String>,
    /// The page that determined the parent's score, in a sentence, if it was another.
    pub makers: Option<String>,
    /// Pages whose score changed but does not determine that of the version, in a sentence, if
    /// there are any.
    pub others: Option<String>,
    /// Changes in exposure and protection, page by page, whether or not they moved a score.
    pub changes: Vec<SecurityDiff>,
    /// Pages whose bodies were not compared with the parent's, because those are unavailable.
    pub uncompared: BodyFailures,
}

/// The score of a parent.
#[derive(Clone, Debug, PartialEq)]
pub struct ParentScore {
    /// The score.
    pub score: f64,
    /// The score normalised to 0 to 100.
    pub normalized: u8,
    /// The URL of the page that determined it.
    pub most_exposed: Option<String>,
    /// Whether it is the stored score of the parent, because bodies for computing it are
    /// unavailable.
    pub is_from_row: bool,
}

impl ScoredVersion {
    /// Why a page has its score, in sentences.
    pub fn explain(page: &PageScore) -> Vec<String> {
        explain(page, RulePack::exposure_1())
    }

    /// Changes in exposure and protection since the parent, in sentences, the worst first.
    pub fn explain_changes(&self) -> Vec<String> {
        explain_security(&self.since.changes)
    }
}

/// Scores a version and stores the score. If bodies are unavailable, an existing score is kept,
/// because it may have been computed with them.
pub fn score(
    history: &HistoryWriter,
    version: VersionId,
    progress: &dyn Fn(u64),
) -> Result<ScoredVersion, ArchiveError> {
    let mut scored = compute(history.as_reader(), version, history.now(), progress)?;
    let (row, json) = row_and_fact(history, &scored.row);
    let kept = history.catalog().scores(&version)?;
    if let Some(kept) = kept.iter().find(|kept| says_the_same(kept, &row)) {
        scored.row = kept.clone();
        scored.is_kept = true;
        store_snapshot_scores(history, &scored, true)?;
        return Ok(scored);
    }
    if scored.is_lacking && kept.iter().any(|kept| kept.scoring_version == row.scoring_version) {
        return Ok(scored);
    }
    scored.is_kept = true;
    history.write_fact(&format!("urn:uuid:{version}"), media_type::SCORE, &json)?;
    history.apply(vec![CatalogRow::Score(Box::new(row))])?;
    store_snapshot_scores(history, &scored, false)?;
    Ok(scored)
}

/// The row to store, and the fact that it is stored as. In an archive the row is read from the fact,
/// so that it equals the one that a rebuild makes. A Moku site has no facts.
fn row_and_fact(history: &HistoryWriter, row: &StoredScore) -> (StoredScore, Vec<u8>) {
    if let HistoryWriter::Moku(_) = history {
        return (row.clone(), Vec::new());
    }
    let json = serde_json::to_vec(row).expect("a score can be written as JSON");
    let fact = serde_json::from_slice(&json).expect("what was written as JSON is JSON");
    (row_of_score(&fact).expect("a score is read as it was written"), json)
}

/// Stores the score of each page where Moku reads it. Only a Moku site has a place for them; they can
/// be computed again from the version.
fn store_snapshot_scores(
    history: &HistoryWriter,
    scored: &ScoredVersion,
    is_known: bool,
) -> Result<(), ArchiveError> {
    let HistoryWriter::Moku(site) = history else { return Ok(()) };
    let of_page = |page: &PageScore| SnapshotScore {
        snapshot_id: page.snapshot_id.clone(),
        url: page.url.clone(),
        score: page.score,
        normalized: page.normalized,
        confidence: page.confidence,
        json: page.to_json(),
    };
    let StoredScore { version, scoring_version, time, .. } = &scored.row;
    let scores: Vec<SnapshotScore> = scored.pages.iter().map(of_page).collect();
    Ok(site.store_snapshot_scores((version, scoring_version, *time), &scores, is_known)?)
}

/// Whether two scores differ at most in their time. A score that is already stored is not stored
/// again.
fn says_the_same(one: &StoredScore, other: &StoredScore) -> bool {
    let timeless = |score: &StoredScore| StoredScore {
        json: String::new(),
        time: Moment::from_seconds(0),
        ..score.clone()
    };
    let whole = |score: &StoredScore| {
        let mut json: serde_json::Value = serde_json::from_str(&score.json).ok()?;
        for place in ["/timestamp", "/attack_surface/collected_at"] {
            json.pointer_mut(place).map(serde_json::Value::take);
        }
        Some(json)
    };
    timeless(one) == timeless(other) && whole(one).is_some() && whole(one) == whole(other)
}

/// Scores a version, and stores nothing.
pub fn compute(
    history: &HistoryReader,
    version: VersionId,
    now: Moment,
    progress: &dyn Fn(u64),
) -> Result<ScoredVersion, ArchiveError> {
    let info = super::show::version(history, &version)?;
    // A parent that no longer exists cannot be compared; the version is scored as one without a
    // parent.
    let (parent, lost_parent) = match info.version.parent {
        Some(gone) if history.catalog().version(&gone)?.is_none() => (None, Some(gone)),
        parent => (parent, None),
    };
    let scorer = Scorer { history, now, head: version, base: parent };
    let mut found = scorer.all(progress)?;
    let scored = found.version_score(version)?;
    // A version without a parent has no changes: all of it is new.
    if parent.is_none() {
        found.forget_changes();
    }
    let pairs: Vec<PagePair<'_>> = found.moved.iter().map(ScoreChange::as_pair).collect();
    let movement = attribute(&pairs, found.same.as_ref().filter(|_| parent.is_some()));
    let before = match (parent, found.lacks_base) {
        (None, _) => None,
        (Some(_), false) => found.before(&movement),
        (Some(parent), true) => kept_score(history, parent)?,
    };
    let is_explained = found.explains(&movement, before.as_ref(), scored.most_exposed().score);
    let known = movement_if(is_explained, &movement);
    let rows = attributions(parent, version, &pairs, &known.shares, now);
    let (attributed, attributions) = rows.into_iter().unzip();
    let change = before.as_ref().filter(|_| !found.lacks_head);
    let change = change.map(|before| scored.most_exposed().score - before.score);
    let (row, most_exposed) = (row(&scored, version, now, attributions), most_exposed(&scored, &known));
    let mut pages = scored.into_pages();
    pages.sort_by(|one, other| other.score.total_cmp(&one.score));
    Ok(ScoredVersion {
        row,
        is_kept: false,
        is_lacking: found.lacks_base || found.lacks_head,
        most_exposed,
        pages,
        since: ScoreComparison {
            parent,
            lost_parent,
            change,
            before,
            is_explained,
            attributed,
            moves: explain_change(&pairs, &known),
            makers: explain_makers(&pairs, &known),
            others: if is_explained { explain_others(&pairs, &known) } else { None },
            changes: found.changes(),
            uncompared: found.uncompared,
        },
        troubles: found.troubles,
    })
}

/// The movement if it is known, otherwise an empty one.
fn movement_if<'a>(is_known: bool, movement: &ScoreMovement<'a>) -> ScoreMovement<'a> {
    match is_known {
        true => movement.clone(),
        false => {
            ScoreMovement { base: None, head: None, is_one_page: false, mover: None, shares: Vec::new() }
        }
    }
}

/// The stored score of a version by the current rules, if every page of it was scored.
fn kept_score(history: &HistoryReader, version: VersionId) -> Result<Option<ParentScore>, ArchiveError> {
    let kept = history.catalog().scores(&version)?;
    let rules = &RulePack::exposure_1().scoring_version;
    let Some(kept) = kept.into_iter().find(|kept| kept.scoring_version == *rules) else { return Ok(None) };
    let json: serde_json::Value = serde_json::from_str(&kept.json).unwrap_or_default();
    if json.get("pages_not_scored").is_some() {
        return Ok(None);
    }
    let most_exposed = json.pointer("/meta/url").and_then(|url| url.as_str()).map(str::to_owned);
    Ok(Some(ParentScore { score: kept.score, normalized: kept.normalized, most_exposed, is_from_row: true }))
}

/// The page that determines the score; if several could, the one that determined it before.
fn most_exposed(scored: &VersionScore, movement: &ScoreMovement<'_>) -> String {
    movement.head.unwrap_or_else(|| scored.most_exposed()).url.clone()
}

/// All pages of a version and its parent, scored.
#[derive(Default)]
struct ScoredPages {
    /// Whether the version has any pages, scored or not.
    has_pages: bool,
    /// The pages of the version.
    pages: Vec<PageScore>,
    /// Pages that differ, before and after.
    moved: Vec<ScoreChange>,
    /// Pages with an unavailable body, before or after.
    lacking: Vec<ScoreChange>,
    /// The most exposed of the pages that do not differ.
    same: Option<PageScore>,
    troubles: BodyFailures,
    uncompared: BodyFailures,
    /// A page of the parent is unknown, so its score may differ.
    lacks_base: bool,
    /// A page of the version is unknown, so its score may differ.
    lacks_head: bool,
}

impl ScoredPages {
    fn add(&mut self, moves: ScoreChange, url: &str) {
        if let Some(trouble) = moves.head_lacks {
            self.troubles.add(trouble, url);
        } else if let Some(trouble) = moves.base_lacks {
            self.uncompared.add(trouble, url);
        }
        // Content purged from both versions counts in neither.
        self.lacks_base |= moves.base_lacks.is_some() && !moves.is_same;
        self.lacks_head |= moves.head_lacks.is_some() && !moves.is_same;
        if moves.base_lacks.is_none() && moves.head_lacks.is_none() && moves.is_same {
            return self.add_same(moves);
        }
        self.pages.extend(moves.head.clone().filter(|_| moves.head_lacks.is_none()));
        match moves.base_lacks.is_some() || moves.head_lacks.is_some() {
            true => self.lacking.push(moves),
            false => self.moved.push(moves),
        }
    }

    fn add_same(&mut self, moves: ScoreChange) {
        let highest = self.same.as_ref().map(|page| page.score);
        let Some(page) = moves.head else { return };
        if highest.is_none_or(|highest| page.score > highest) {
            self.same = Some(page.clone());
        }
        self.pages.push(page);
    }

    fn forget_changes(&mut self) {
        self.moved = Vec::new();
        self.lacking = Vec::new();
    }

    /// The score of the pages, if there are any.
    fn version_score(&mut self, version: VersionId) -> Result<VersionScore, ArchiveError> {
        let has_bodies = !self.has_pages || self.troubles.count(|_| true) == 0;
        let missing = self.troubles.count(|one| one != BodyFailure::Missing) == 0;
        let not_scored = if self.lacks_head { self.troubles.count(|_| true) } else { 0 };
        let scored = VersionScore::new(std::mem::take(&mut self.pages));
        scored.map(|scored| scored.without(not_scored)).ok_or(match has_bodies {
            true => ArchiveError::NoPages(version),
            false => ArchiveError::NoBodies { version, missing },
        })
    }

    /// The score of the parent, if all of its pages are known.
    fn before(&self, movement: &ScoreMovement<'_>) -> Option<ParentScore> {
        let lacking = self.lacking.iter().filter(|moves| moves.base_lacks.is_none());
        let pages = lacking.filter_map(|moves| moves.base.as_ref()).chain(movement.base);
        let highest = pages.max_by(|one, other| one.score.total_cmp(&other.score))?;
        Some(ParentScore {
            score: highest.score,
            normalized: highest.normalized,
            most_exposed: Some(highest.url.clone()),
            is_from_row: false,
        })
    }

    /// Whether the movement of the known pages is that of the version: its start and end equal the
    /// two scores.
    fn explains(&self, movement: &ScoreMovement<'_>, before: Option<&ParentScore>, score: f64) -> bool {
        let is =
            |page: Option<&PageScore>, score: f64| page.is_some_and(|page| (page.score - score).abs() < 1e-9);
        match before {
            Some(before) if self.lacks_base => {
                !self.lacks_head && is(movement.base, before.score) && is(movement.head, score)
            }
            _ => !self.lacks_base && !self.lacks_head,
        }
    }

    /// The known changes in exposure and protection of the pages.
    fn changes(&self) -> Vec<SecurityDiff> {
        let all = self.moved.iter().chain(&self.lacking);
        all.filter_map(ScoreChange::security_diff).filter(|diff| !diff.is_empty()).collect()
    }
}

/// A page before and after, scored. If a body is unavailable, the URL and headers are scored; if
/// those were removed too, nothing is.
struct ScoreChange {
    base: Option<PageScore>,
    head: Option<PageScore>,
    chunks: Vec<AttributedChunk>,
    /// Nothing differs, so the base was not scored again.
    is_same: bool,
    /// Why the body before is unavailable, if it is.
    base_lacks: Option<BodyFailure>,
    /// Why the body after is unavailable, if it is.
    head_lacks: Option<BodyFailure>,
}

impl ScoreChange {
    /// An unchanged page.
    fn unmoved(head: Option<PageScore>) -> Self {
        Self { base: None, head, chunks: Vec::new(), is_same: true, base_lacks: None, head_lacks: None }
    }

    fn as_pair(&self) -> PagePair<'_> {
        PagePair { base: self.base.as_ref(), head: self.head.as_ref(), chunks: &self.chunks }
    }

    /// Changes in exposure and protection of the page; `None` if one side is entirely unknown.
    fn security_diff(&self) -> Option<SecurityDiff> {
        fn side(score: Option<&PageScore>, lacks: Option<BodyFailure>) -> Option<ScoredSide<'_>> {
            score.map(|score| ScoredSide { score, has_body: lacks.is_none() })
        }
        let is_unknown =
            |score: &Option<PageScore>, lacks: Option<BodyFailure>| score.is_none() && lacks.is_some();
        if is_unknown(&self.base, self.base_lacks) || is_unknown(&self.head, self.head_lacks) {
            return None;
        }
        let (base, head) =
            (side(self.base.as_ref(), self.base_lacks), side(self.head.as_ref(), self.head_lacks));
        SecurityDiff::between_sides(RulePack::exposure_1(), base, head)
    }
}

struct Scorer<'a> {
    history: &'a HistoryReader,
    now: Moment,
    head: VersionId,
    base: Option<VersionId>,
}

impl Scorer<'_> {
    fn all(&self, progress: &dyn Fn(u64)) -> Result<ScoredPages, ArchiveError> {
        let mut found = ScoredPages::default();
        // Almost all of the time goes into parsing pages, so that all cores do it.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let work = |pair: Result<CapturePair, RepositoryError>| -> Result<_, ArchiveError> {
            let pair = pair?;
            let change = self.pair(&pair)?;
            Ok((pair, change))
        };
        let pairs = CapturePairs::new(self.history.catalog(), self.base, Some(self.head))
            .with_hosts(self.history.host_pairing());
        run_in_order(
            WorkerCount { threads, together: PAGES_PER_BATCH },
            pairs,
            || work,
            |scored| {
                let (pair, change) = scored?;
                found.has_pages |= pair.head.is_some();
                found.add(change, &pair.any().url);
                progress(1);
                Ok::<(), ArchiveError>(())
            },
        )?;
        Ok(found)
    }

    fn pair(&self, pair: &CapturePair) -> Result<ScoreChange, ArchiveError> {
        let limits = ScoreLimits::default();
        // One byte more than the limit, to detect longer bodies.
        let most = limits.body as u64 + 1;
        let head = LoadedPage::load_lossy(self.history, pair.head.as_ref(), most)?;
        let head_score = self.side(pair.head.as_ref(), &head, self.head, &limits);
        if pair.change() == PageChange::Unchanged {
            return match head.failure {
                Some(trouble) => self.unknown(pair, trouble),
                None => Ok(ScoreChange::unmoved(head_score)),
            };
        }
        let base = LoadedPage::load_lossy(self.history, pair.base.as_ref(), most)?;
        let version = self.base.unwrap_or(self.head);
        Ok(ScoreChange {
            base: self.side(pair.base.as_ref(), &base, version, &limits),
            head: head_score,
            chunks: chunks(&base, &head, &limits),
            is_same: false,
            base_lacks: base.failure,
            head_lacks: head.failure,
        })
    }

    /// An unchanged page with unknown content. If it was purged, it counts as missing on neither
    /// side.
    fn unknown(&self, pair: &CapturePair, trouble: BodyFailure) -> Result<ScoreChange, ArchiveError> {
        let removal = pair.head.as_ref().map(|page| removal_of(self.history, page)).transpose()?.flatten();
        let (base_lacks, head_lacks) = (Some(trouble), Some(trouble));
        Ok(ScoreChange { base_lacks, head_lacks, is_same: removal.is_some(), ..ScoreChange::unmoved(None) })
    }

    /// The score of one side of a page. The headers of purged content were removed too.
    fn side(
        &self,
        page: Option<&Capture>,
        loaded: &LoadedPage,
        version: VersionId,
        limits: &ScoreLimits,
    ) -> Option<PageScore> {
        let is_bare = loaded.headers.iter().next().is_none();
        let page = page.filter(|_| loaded.failure != Some(BodyFailure::Missing) || !is_bare)?;
        Some(self.page(page, loaded, version, limits))
    }

    fn page(
        &self,
        capture: &Capture,
        loaded: &LoadedPage,
        version: VersionId,
        limits: &ScoreLimits,
    ) -> PageScore {
        let page = ScoredPage {
            url: &capture.url,
            file_path: &capture.path,
            snapshot_id: &capture.id.to_string(),
            version_id: &version.to_string(),
            status: capture.status,
            headers: &loaded.headers,
            body: &loaded.body,
            time: self.now.utc(),
        };
        score_page(&page, RulePack::exposure_1(), limits)
    }
}

/// The chunks of the diff of a page, numbered as in the whole diff. Returns none if a body is
/// incomplete.
fn chunks(base: &LoadedPage, head: &LoadedPage, limits: &ScoreLimits) -> Vec<AttributedChunk> {
    let is_whole = |page: &LoadedPage| !page.is_bodiless() && page.body.len() <= limits.body;
    if !is_whole(base) || !is_whole(head) {
        return Vec::new();
    }
    let chunk = |chunk: &varve_diff::text::DiffChunk| {
        AttributedChunk::new(chunk.base_start, chunk.base_len, chunk.head_start, chunk.head_len)
    };
    // Evidence has byte positions in a body, so the chunks need byte positions too.
    let diff = moku::body_diff("", "", &base.body, &head.body);
    moku::in_bytes(diff, &base.body, &head.body).chunks.iter().map(chunk).collect()
}

fn row(
    scored: &VersionScore,
    version: VersionId,
    time: Moment,
    attributions: Vec<Attribution>,
) -> StoredScore {
    let row = scored.row(time.seconds());
    StoredScore {
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

fn evidence(row: EvidenceLocationRow) -> StoredEvidenceLocation {
    let range = |start: Option<usize>, end: Option<usize>| Some((start? as u64, end? as u64));
    StoredEvidenceLocation {
        evidence_id: row.evidence_id.to_string(),
        evidence_index: i64::try_from(row.evidence_index).unwrap_or(i64::MAX),
        location_index: row.location.index,
        key: row.evidence_key.to_owned(),
        selector: row.location.selector,
        file_path: Some(row.location.file_path),
        bytes: range(row.location.byte_start, row.location.byte_end),
        lines: range(row.location.line_start, row.location.line_end),
        confidence: None,
        evidence_json: row.evidence_json,
        location_json: row.location.json,
    }
}

fn attributions(
    base: Option<VersionId>,
    head: VersionId,
    pairs: &[PagePair<'_>],
    shares: &[ScoreShare],
    now: Moment,
) -> Vec<(String, Attribution)> {
    let path = |pair: &PagePair<'_>| pair.head.or(pair.base).map(|page| page.file_path.clone());
    let one = |row: AttributionRow| Attribution {
        base,
        evidence_id: row.subject.evidence_id.to_string(),
        location_index: row.subject.location_index.unwrap_or(-1),
        chunk_index: row.chunk_index,
        key: row.subject.evidence_key.to_owned(),
        evidence_json: row.subject.evidence_json,
        location_json: row.subject.location_json,
        contribution: row.contribution,
        percent: row.contribution_pct,
        note: Some(row.subject.note),
    };
    let rows = attribution_rows("", &head.to_string(), RulePack::exposure_1(), pairs, shares, now.seconds());
    let with_path = |row: AttributionRow| {
        let page = pairs.get(row.page).and_then(path).unwrap_or_default();
        (page, one(row))
    };
    rows.into_iter().map(with_path).collect()
}
