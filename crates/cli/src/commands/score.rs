//! `varve score`: rates how exposed the pages of a version are to attack.

use serde::Serialize;
use serde_json::{Value, json};
use varve_archive::verbs::score::{PageScore, ScoredVersion, SecurityDiff, compute, score};
use varve_archive::{BodyFailure, Moment, VersionId};

use crate::body_problems;
use crate::clock;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::printer::{FAINT_STYLE, STRONG_STYLE, visible};
use crate::session::Session;
use crate::verb::Verb;
use crate::version_names::resolve_version;
use crate::version_text::short_version_id;

const SCORE_EXAMPLES: &str = "\
Examples:
  varve score
  varve score --explain
  varve score before-the-relaunch --json";

/// Pages that are explained one by one.
const MAX_EXPLAINED_PAGES: usize = 10;
/// Why a score is not stored.
const UNSAVED_SCORE_NOTE: &str =
    "the score is not stored: bodies are missing, and the stored one may have been computed with them";
/// Pages that are listed.
const MAX_LISTED_PAGES: usize = 20;

/// Rate how exposed the pages of a version are to attack
///
/// Forms, inputs, scripts, cookies and frames raise the score of a page; protective headers lower
/// it. It ranges from 0 to 100. The score of a version is that of its most exposed page. It is
/// stored with the version, its evidence, and the attribution of the change since the parent to
/// chunks of the diff. With `--readonly`, or if the archive cannot be written, it is only printed.
///
/// The change is that of the version's score: the page with the highest score now raises it, the
/// one with the highest score before lowers it. If that page changed more than the score, its
/// changes count in proportion. So contributions add up to the change, and percentages, which are
/// shares of all movement up and down, to 100.
///
/// A chunk is identified by its number, from 0, in the diff of its page, as `varve diff --mode
/// chars` shows it and rows of `diffs` contain it. Headers, and content beyond the first 16 MiB of
/// a page, have -1.
///
/// Changes of exposure and protection since the parent are listed even if they did not change the
/// score: forms, buttons and their targets, inputs, cookies, scripts (also in attributes and URLs),
/// modules, frames, objects, a `base` of another site, redirecting pages, and protective headers.
/// `--explain` describes them in sentences, the worst first.
///
/// The `selector` of evidence selects one element of the page as browsers parse it without scripts.
/// Evidence in a `template`, in a page of more than 8 MiB, or nested deeper than browsers support,
/// has none.
///
/// Pages whose bodies are missing are skipped and counted; so are those with damaged bodies, and
/// the exit code is 1. If the body of the parent's page is missing, only the headers are compared,
/// which is noted. The parent's score is then its stored score, by the same rules; without one it
/// is unknown. A score computed without all bodies does not replace a stored one.
///
/// All scores, their parts and their changes are printed on one scale, where 100 is the most that a
/// version or page can have; `score` is neither rounded nor capped, as `normalized` is, and
/// `hardening` is the percentage of the exposure that headers take off. Stored rows have 1 instead of
/// 100, as Moku has it. In a Moku site the score of each page is also stored in `score_results`, where
/// Moku reads it.
///
/// With `--json`, prints one object: `version`, `parent`, `before` (the parent's score) and
/// `change` (null if unknown), `most_exposed` and `most_exposed_before` (URLs), `scoring_version`,
/// `score`, `normalized`, `confidence`, `kept`, `pages` (`url`, `path`, `score`, `normalized`,
/// `exposure`, `hardening`), `evidence`, `attributions` (`evidence`, `key`, `path` of the page,
/// `chunk`, `contribution`, `percent`, `note`) and `changes`, one per page that differs from the
/// parent's (`url`, `file_path`, `score_base`, `score_head`, `score_delta`, `regressed`,
/// `bodies_compared`, `attack_surface_changes` with `kind`, `detail`, `category`, `severity`,
/// `score`, `rule`); with `--explain` also `explanation`, a list of sentences.
#[derive(clap::Args)]
#[command(after_help = SCORE_EXAMPLES)]
pub(super) struct ScoreArgs {
    #[arg(default_value = "HEAD", help = crate::version_names::VERSION_HELP)]
    version: String,

    /// Explain the score in sentences
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for ScoreArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let (version, scored) = self.score(session)?;
        if self.json {
            let explanation = self.explain.then(|| explanation(&scored));
            session.printer.json(&ScoreRow::of(version, &scored, explanation))?;
        } else if self.explain {
            for sentence in explanation(&scored) {
                session.printer.line(visible(&sentence))?;
            }
        } else {
            summary(session, version, &scored)?;
        }
        if let Some(parent) = &scored.since.lost_parent {
            session.printer.say(format_args!(
                "its parent {} is missing, so the change is unknown",
                short_version_id(parent)
            ));
        }
        body_problems::say(&scored.troubles, "not scored", &mut session.printer);
        body_problems::say(&scored.since.uncompared, "not compared with the parent's", &mut session.printer);
        let is_fault = |trouble| trouble != BodyFailure::Missing;
        let is_finding = scored.troubles.count(is_fault) + scored.since.uncompared.count(is_fault) > 0;
        Ok(if is_finding { ExitStatus::Findings } else { ExitStatus::Done })
    }
}

impl ScoreArgs {
    /// Scores the version, and stores the score if the archive can be written.
    fn score(&self, session: &mut Session) -> Result<(VersionId, ScoredVersion), Error> {
        let history = match session.try_open_history()? {
            Ok(history) => history,
            Err(why) => {
                let (version, scored) = self.only_compute(session)?;
                session.printer.say(format_args!("the score is not stored: {why}"));
                return Ok((version, scored));
            }
        };
        let version = resolve_version(history.as_reader(), &self.version)?;
        let progress = session.printer.progress(None, "pages");
        let scored = score(&history, version, &|more| progress.inc(more))?;
        drop(progress);
        if !scored.is_kept {
            session.printer.say(UNSAVED_SCORE_NOTE);
        }
        Ok((version, scored))
    }

    fn only_compute(&self, session: &mut Session) -> Result<(VersionId, ScoredVersion), Error> {
        let history = session.open_reader()?;
        let version = resolve_version(&history, &self.version)?;
        let progress = session.printer.progress(None, "pages");
        let now = Moment::from(clock::now().instant);
        Ok((version, compute(&history, version, now, &|more| progress.inc(more))?))
    }
}

fn summary(session: &mut Session, version: VersionId, scored: &ScoredVersion) -> Result<(), Error> {
    let before = match (&scored.since.before, scored.since.parent) {
        (Some(before), Some(parent)) => format!(" ({} in {})", before.normalized, short_version_id(&parent)),
        (None, Some(parent)) if scored.is_lacking => format!(" (not known in {})", short_version_id(&parent)),
        _ => String::new(),
    };
    session.printer.line(format_args!(
        "{STRONG_STYLE}{}{STRONG_STYLE:#} of 100  {}{before}",
        scored.row.normalized,
        short_version_id(&version)
    ))?;
    for page in scored.pages.iter().take(MAX_LISTED_PAGES) {
        session.printer.line(format_args!("{:>3}  {}", page.normalized, visible(&page.url)))?;
    }
    let left = scored.pages.len().saturating_sub(MAX_LISTED_PAGES);
    if left > 0 {
        session
            .printer
            .line(format_args!("{FAINT_STYLE}{left} more, none with a higher score{FAINT_STYLE:#}"))?;
    }
    Ok(())
}

/// Sentences about the most exposed pages and the changes of their scores.
fn explanation(scored: &ScoredVersion) -> Vec<String> {
    // Pages with score 0 are only counted, unless all pages have it.
    let exposed = scored.pages.iter().filter(|page| page.normalized > 0).count();
    let explained = exposed.clamp(1, MAX_EXPLAINED_PAGES);
    let mut sentences: Vec<String> =
        scored.pages.iter().take(explained).flat_map(ScoredVersion::explain).collect();
    let left = scored.pages.len().saturating_sub(explained);
    let bound = if exposed > explained { "no higher" } else { "0" };
    match left {
        0 => {}
        1 => sentences.push(format!("1 more page scores {bound}.")),
        _ => sentences.push(format!("{left} more pages score {bound}.")),
    }
    if let Some(parent) = scored.since.parent {
        sentences.extend(scored.since.makers.clone());
        sentences.extend(history(scored, &short_version_id(&parent)));
        sentences.extend(scored.since.moves.iter().cloned());
        sentences.extend(scored.since.others.clone());
    }
    let changes = scored.explain_changes();
    if let Some(parent) = scored.since.parent.filter(|_| !changes.is_empty()) {
        sentences
            .push(format!("What changed in exposure and protection since {}:", short_version_id(&parent)));
        sentences.extend(changes);
    }
    sentences
}

/// How the score compares with that of the parent; `None` if the parent has no page.
fn history(scored: &ScoredVersion, parent: &str) -> Option<String> {
    Some(match &scored.since.before {
        Some(before) if scored.since.is_explained => heading(scored, before.normalized, parent),
        Some(before) => format!(
            "The score in {parent} {} {}. The cause of the change is unknown: bodies are missing.",
            if before.is_from_row { "is stored as" } else { "was" },
            before.normalized,
        ),
        None if scored.since.is_explained => return None,
        None => format!("The score in {parent} is unknown: bodies are missing, and no score is stored."),
    })
}

/// The sentence before the list of contributions.
fn heading(scored: &ScoredVersion, before: u8, parent: &str) -> String {
    let (now, change) = (scored.row.normalized, scored.since.change.unwrap_or_default());
    if scored.since.moves.is_empty() {
        return match scored.since.changes.is_empty() {
            true => format!("Nothing relevant changed since {parent}, which scored {before}."),
            false => format!("The score is unchanged since {parent}: {before}."),
        };
    }
    if now != before {
        return format!("The score changed from {before} in {parent} to {now} by:");
    }
    match change.abs() < SCORE_EPSILON {
        true => format!("The score is unchanged since {parent}: {before}. These changes cancel out:"),
        false => format!(
            "The score is unchanged since {parent}: {before}. Before rounding and capping at 100 it moved by {:+.2}:",
            on_scale(change)
        ),
    }
}

/// A score or a part of one on the scale of all output, 0 to 100. Rows have 1 where output has 100.
fn on_scale(score: f64) -> f64 {
    // Rounded: 0.07 * 100 is not exactly 7.
    (score * 100.0 * SCALE_DECIMALS).round() / SCALE_DECIMALS
}

/// Output has twelve decimals at most.
const SCALE_DECIMALS: f64 = 1e12;

/// The numbers of `changes` that are scores.
const SCORE_FIELDS: [&str; 4] = ["score", "score_base", "score_head", "score_delta"];

/// Changes in exposure and protection, with their scores on the scale of all output.
fn changes_on_scale(changes: &[SecurityDiff]) -> Value {
    fn convert(value: &mut Value) {
        match value {
            Value::Array(values) => values.iter_mut().for_each(convert),
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value.as_f64().filter(|_| SCORE_FIELDS.contains(&name.as_str())) {
                        Some(score) => *value = json!(on_scale(score)),
                        None => convert(value),
                    }
                }
            }
            _ => {}
        }
    }
    let mut value = json!(changes);
    convert(&mut value);
    value
}

/// Smaller changes of the score count as none.
const SCORE_EPSILON: f64 = 1e-9;

#[derive(Serialize)]
struct ScoreRow<'a> {
    version: String,
    #[serde(flatten)]
    since: ScoreChangeRow<'a>,
    scoring_version: &'a str,
    score: f64,
    normalized: u8,
    confidence: f64,
    kept: bool,
    pages: Vec<PageScoreRow<'a>>,
    evidence: Vec<EvidenceRow<'a>>,
    attributions: Vec<ScoreAttributionRow<'a>>,
    changes: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Vec<String>>,
}

/// The score of the version beside that of its parent.
#[derive(Serialize)]
struct ScoreChangeRow<'a> {
    parent: Option<String>,
    before: Option<u8>,
    change: Option<f64>,
    most_exposed: &'a str,
    most_exposed_before: Option<&'a str>,
}

#[derive(Serialize)]
struct PageScoreRow<'a> {
    url: &'a str,
    path: &'a str,
    score: f64,
    normalized: u8,
    exposure: f64,
    hardening: f64,
}

#[derive(Serialize)]
struct EvidenceRow<'a> {
    id: &'a str,
    key: &'a str,
    path: Option<&'a str>,
    selector: Option<&'a str>,
    bytes: Option<(u64, u64)>,
    lines: Option<(u64, u64)>,
}

#[derive(Serialize)]
struct ScoreAttributionRow<'a> {
    evidence: &'a str,
    key: &'a str,
    path: &'a str,
    chunk: i64,
    contribution: f64,
    percent: f64,
    note: Option<&'a str>,
}

impl<'a> ScoreRow<'a> {
    fn of(version: VersionId, scored: &'a ScoredVersion, explanation: Option<Vec<String>>) -> Self {
        let row = &scored.row;
        let evidence = row.evidence.iter().map(|evidence| EvidenceRow {
            id: &evidence.evidence_id,
            key: &evidence.key,
            path: evidence.file_path.as_deref(),
            selector: evidence.selector.as_deref(),
            bytes: evidence.bytes,
            lines: evidence.lines,
        });
        let attributions = row.attributions.iter().zip(&scored.since.attributed);
        let attributions = attributions.map(|(attribution, path)| ScoreAttributionRow {
            evidence: &attribution.evidence_id,
            key: &attribution.key,
            path,
            chunk: attribution.chunk_index,
            contribution: on_scale(attribution.contribution),
            percent: attribution.percent,
            note: attribution.note.as_deref(),
        });
        Self {
            version: version.to_string(),
            since: ScoreChangeRow::of(scored),
            scoring_version: &row.scoring_version,
            score: on_scale(row.score),
            normalized: row.normalized,
            confidence: row.confidence,
            kept: scored.is_kept,
            pages: scored.pages.iter().map(page_line).collect(),
            evidence: evidence.collect(),
            attributions: attributions.collect(),
            changes: changes_on_scale(&scored.since.changes),
            explanation,
        }
    }
}

impl<'a> ScoreChangeRow<'a> {
    fn of(scored: &'a ScoredVersion) -> Self {
        let since = &scored.since;
        Self {
            parent: since.parent.or(since.lost_parent).map(|parent| parent.to_string()),
            before: since.before.as_ref().map(|before| before.normalized),
            change: since.change.map(on_scale),
            most_exposed: &scored.most_exposed,
            most_exposed_before: since.before.as_ref().and_then(|before| before.most_exposed.as_deref()),
        }
    }
}

fn page_line(page: &PageScore) -> PageScoreRow<'_> {
    let PageScore { url, file_path: path, score, normalized, exposure, hardening, .. } = page;
    PageScoreRow {
        url,
        path,
        score: on_scale(*score),
        normalized: *normalized,
        exposure: on_scale(*exposure),
        hardening: on_scale(*hardening),
    }
}
