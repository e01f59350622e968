//! Scores as rows of the tables `version_scores`, `version_evidence_locations` and
//! `diff_attributions`.
//!
//! Owns the values of every column and the score of a version of many pages. Has no SQL. Ids derive
//! from content, so that scoring again, or a rebuild, gives the same rows; the caller passes the
//! times.

use crate::attribution::{EvidenceRef, PagePair, ScoreShare, ShareCause};
use crate::evidence::{EvidenceLocation, ExposureEvidence};
use crate::{PageScore, RuleId, RulePack};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

/// The UUID namespace of row ids.
const ROW_ID_NAMESPACE: Uuid = Uuid::from_u128(0x5d2c_9f0e_7a41_4c6b_8f13_0b6e_c2a9_d374);

/// The score of a version: that of its most exposed page.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionScore {
    pages: Vec<PageScore>,
    most_exposed: usize,
    not_scored: u64,
}

impl VersionScore {
    /// The score of these pages, ordered by path and address. `None` without pages.
    pub fn new(mut pages: Vec<PageScore>) -> Option<Self> {
        pages.sort_by(|left, right| (&left.file_path, &left.url).cmp(&(&right.file_path, &right.url)));
        // The first of equal ones, which `max_by` sees last.
        let most_exposed = (0..pages.len())
            .rev()
            .max_by(|&left, &right| pages[left].score.total_cmp(&pages[right].score))?;
        Some(Self { pages, most_exposed, not_scored: 0 })
    }

    /// The same with a number of further pages whose bodies are not available.
    pub fn without(self, not_scored: u64) -> Self {
        Self { not_scored, ..self }
    }

    /// The number of pages that could not be scored.
    pub const fn not_scored(&self) -> u64 {
        self.not_scored
    }

    /// The pages, in order.
    pub fn pages(&self) -> &[PageScore] {
        &self.pages
    }

    /// The pages, in order, without the score.
    pub fn into_pages(self) -> Vec<PageScore> {
        self.pages
    }

    /// The page that scores highest.
    pub fn most_exposed(&self) -> &PageScore {
        &self.pages[self.most_exposed]
    }

    /// The confidence of the score: the lowest of all pages.
    pub fn confidence(&self) -> f64 {
        self.pages.iter().map(|page| page.confidence).fold(1.0, f64::min)
    }

    /// The row of `version_scores`. `created_at` is in Unix seconds.
    pub fn row(&self, created_at: i64) -> VersionScoreRow {
        let page = self.most_exposed();
        VersionScoreRow {
            id: derive(&["score", &page.version_id, &page.scoring_version]),
            version_id: page.version_id.clone(),
            scoring_version: page.scoring_version.clone(),
            score: page.score,
            normalized: page.normalized,
            confidence: self.confidence(),
            score_json: self.to_json(),
            created_at,
        }
    }

    /// The rows of `version_evidence_locations`, in order of pages, evidence and places.
    pub fn evidence_rows(&self, created_at: i64) -> Vec<EvidenceLocationRow> {
        let all = self.pages.iter().flat_map(|page| (0..page.evidence.len()).map(move |index| (page, index)));
        all.enumerate()
            .flat_map(|(number, (page, index))| piece_rows(page, index, number, created_at))
            .collect()
    }
}

/// A row of `version_scores`.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionScoreRow {
    /// Derived from version and scoring version.
    pub id: Uuid,
    /// The version.
    pub version_id: String,
    /// The pack.
    pub scoring_version: String,
    /// 0 or more.
    pub score: f64,
    /// 0 to 100.
    pub normalized: u8,
    /// 0 to 1.
    pub confidence: f64,
    /// All of it.
    pub score_json: String,
    /// Unix seconds.
    pub created_at: i64,
}

/// A row of `version_evidence_locations`. `xpath`, `node_id` and `loc_confidence` of that table
/// stay NULL.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceLocationRow {
    /// Derived from evidence and place.
    pub id: Uuid,
    /// The version.
    pub version_id: String,
    /// Derived from version, scoring version, page and number of the evidence.
    pub evidence_id: Uuid,
    /// The number of the evidence in the version.
    pub evidence_index: usize,
    /// The rule.
    pub evidence_key: &'static str,
    /// The evidence, without its places.
    pub evidence_json: String,
    /// The columns of the place.
    pub location: LocationColumns,
    /// The pack.
    pub scoring_version: String,
    /// Unix seconds.
    pub created_at: i64,
}

/// The columns of `version_evidence_locations` that describe one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationColumns {
    /// The number of the place, −1 for evidence without one.
    pub index: i64,
    /// The page's path in the working tree.
    pub file_path: String,
    /// The selector of the element.
    pub selector: Option<String>,
    /// The offset of the start tag.
    pub byte_start: Option<usize>,
    /// The offset behind the start tag.
    pub byte_end: Option<usize>,
    /// Its first line, from 1.
    pub line_start: Option<usize>,
    /// Its last line.
    pub line_end: Option<usize>,
    /// The place as JSON.
    pub json: Option<String>,
}

/// A row of `diff_attributions`.
#[derive(Debug, Clone, PartialEq)]
pub struct AttributionRow {
    /// Derived from the diff and the cause.
    pub id: Uuid,
    /// The pair of pages.
    pub page: usize,
    /// The diff.
    pub diff_id: String,
    /// The version whose score moved.
    pub head_version_id: String,
    /// The evidence or header that moved the score.
    pub subject: AttributionSubject,
    /// The number of the chunk in its page's diff, −1 for none.
    pub chunk_index: i64,
    /// The pack.
    pub scoring_version: String,
    /// The movement of the score.
    pub contribution: f64,
    /// The part of all movement, 0 to 100.
    pub contribution_pct: f64,
    /// Unix seconds.
    pub created_at: i64,
}

/// The columns of `diff_attributions` that describe what moved the score: evidence that came or
/// went, or a header that protects more or less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributionSubject {
    /// The evidence that moved.
    pub evidence_id: Uuid,
    /// The row of its place, if it is one of the head's.
    pub location_id: Option<Uuid>,
    /// The number of its place.
    pub location_index: Option<i64>,
    /// The rule, or `hardening` for a header that protects more or less.
    pub evidence_key: &'static str,
    /// The evidence, without its places.
    pub evidence_json: String,
    /// The place.
    pub location_json: Option<String>,
    /// `added`, `removed`, `weakened` or `strengthened`, and the page's path.
    pub note: String,
}

/// The rows of one piece of evidence. What all of its places share is made once: a page can have
/// hundreds of them.
fn piece_rows(page: &PageScore, index: usize, number: usize, created_at: i64) -> Vec<EvidenceLocationRow> {
    let evidence = &page.evidence[index];
    let (evidence_id, evidence_json) = (evidence_id(page, index), evidence_json(evidence));
    let row = |location_index: i64, location: Option<&EvidenceLocation>| EvidenceLocationRow {
        id: location_id(&evidence_id, location_index),
        version_id: page.version_id.clone(),
        evidence_id,
        evidence_index: number,
        evidence_key: evidence.key.name(),
        evidence_json: evidence_json.clone(),
        location: LocationColumns {
            index: location_index,
            file_path: page.file_path.clone(),
            selector: location.and_then(|location| location.selector.clone()),
            byte_start: location.and_then(|location| location.byte_start),
            byte_end: location.and_then(|location| location.byte_end),
            line_start: location.and_then(|location| location.line_start),
            line_end: location.and_then(|location| location.line_end),
            json: location.map(location_json),
        },
        scoring_version: page.scoring_version.clone(),
        created_at,
    };
    if evidence.locations.is_empty() {
        return vec![row(-1, None)];
    }
    (0..).zip(&evidence.locations).map(|(number, location)| row(number, Some(location))).collect()
}

/// The rows of `diff_attributions`, in the order of shares.
pub fn attribution_rows(
    diff_id: &str,
    head_version_id: &str,
    pack: &RulePack,
    pairs: &[PagePair<'_>],
    shares: &[ScoreShare],
    created_at: i64,
) -> Vec<AttributionRow> {
    let row = |share: &ScoreShare| {
        let subject = AttributionSubject::of(share, pack, pairs.get(share.page)?)?;
        let (page, chunk_index) = (share.page.to_string(), share.chunk.map_or(-1, number));
        let place = subject.location_index.unwrap_or(-1).to_string();
        Some(AttributionRow {
            id: derive(&[
                "attribution",
                diff_id,
                &page,
                &subject.evidence_id.to_string(),
                &place,
                &subject.note,
            ]),
            page: share.page,
            diff_id: diff_id.to_owned(),
            head_version_id: head_version_id.to_owned(),
            subject,
            chunk_index,
            scoring_version: pack.scoring_version.clone(),
            contribution: share.contribution,
            contribution_pct: share.percent,
            created_at,
        })
    };
    shares.iter().filter_map(row).collect()
}

/// The path of a page in reports. That of the root is empty in rows.
fn path_told(page: &PageScore) -> &str {
    if page.file_path.is_empty() { "/" } else { &page.file_path }
}

impl AttributionSubject {
    fn of(share: &ScoreShare, pack: &RulePack, pair: &PagePair<'_>) -> Option<Self> {
        match &share.cause {
            ShareCause::Came(find) => Self::find(pair.head?, *find, "added", true),
            ShareCause::Went(find) => Self::find(pair.base?, *find, "removed", false),
            ShareCause::Protection { header, directive } => {
                let word = if share.contribution > 0.0 { "weakened" } else { "strengthened" };
                Some(Self::protection(pair.head?, pack, header, directive.as_deref(), word))
            }
        }
    }

    /// A finding. Only places of the head certainly have rows.
    fn find(page: &PageScore, find: EvidenceRef, word: &str, is_head: bool) -> Option<Self> {
        let evidence = page.evidence.get(find.evidence)?;
        let (evidence_id, location_index) = (evidence_id(page, find.evidence), find.location.map(number));
        let row = location_index.filter(|_| is_head).map(|index| location_id(&evidence_id, index));
        Some(Self {
            evidence_id,
            location_id: row,
            location_index,
            evidence_key: evidence.key.name(),
            evidence_json: evidence_json(evidence),
            location_json: find.location.and_then(|index| evidence.locations.get(index)).map(location_json),
            note: format!("{word} {}", path_told(page)),
        })
    }

    /// A header. If it is missing in the head, there is evidence of that.
    fn protection(
        page: &PageScore,
        pack: &RulePack,
        header: &str,
        directive: Option<&str>,
        word: &str,
    ) -> Self {
        let part = directive.unwrap_or_default();
        let note = format!("{word} {} {header} {part}", path_told(page)).trim_end().to_owned();
        let missing = missing_rule(pack, header);
        let found = page.evidence.iter().position(|evidence| Some(evidence.key) == missing);
        if let Some(index) = found {
            let find = EvidenceRef { evidence: index, location: Some(0) };
            if let Some(subject) = Self::find(page, find, word, true) {
                return Self { note, ..subject };
            }
        }
        let names =
            ["hardening", &page.version_id, &page.scoring_version, &page.file_path, &page.url, header, part];
        Self {
            evidence_id: derive(&names),
            location_id: None,
            location_index: None,
            evidence_key: "hardening",
            evidence_json: json!({"key": "hardening", "header_name": header, "directive": directive})
                .to_string(),
            location_json: None,
            note,
        }
    }
}

/// The rule for the absence of a header.
fn missing_rule(pack: &RulePack, header: &str) -> Option<RuleId> {
    if header == crate::policy::CSP_HEADER {
        return Some(RuleId::CspMissing);
    }
    pack.headers.iter().find(|known| known.name == header).map(|known| known.missing)
}

/// The id of a piece of evidence.
fn evidence_id(page: &PageScore, index: usize) -> Uuid {
    let index = index.to_string();
    derive(&["evidence", &page.version_id, &page.scoring_version, &page.file_path, &page.url, &index])
}

/// The id of a place of it.
fn location_id(evidence_id: &Uuid, location: i64) -> Uuid {
    derive(&["location", &evidence_id.to_string(), &location.to_string()])
}

/// An id derived from names and their lengths, so that two lists of names never have the same id.
fn derive(names: &[&str]) -> Uuid {
    let text: String = names.iter().map(|name| format!("{}:{name}", name.len())).collect();
    Uuid::new_v5(&ROW_ID_NAMESPACE, text.as_bytes())
}

/// A number of a row.
fn number(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

/// Evidence without its places, which have their own columns.
fn evidence_json(evidence: &ExposureEvidence) -> String {
    let without_places = ExposureEvidence {
        key: evidence.key,
        rule_id: evidence.rule_id,
        severity: evidence.severity,
        category: evidence.category,
        description: evidence.description.clone(),
        count: evidence.count,
        locations: Vec::new(),
        contribution: evidence.contribution,
        exposure: evidence.exposure,
    };
    to_json(&without_places)
}

/// A place.
fn location_json(location: &EvidenceLocation) -> String {
    to_json(location)
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("every part is a string, a finite number or a list of such")
}
