//! `varve score`: how exposed the pages of a version are, and why.

use serde::Serialize;
use varve_archive::verbs::score::{PageScore, Scored, SecurityDiff, compute, score};
use varve_archive::{BodyTrouble, Moment, VersionId};

use super::log::short;
use super::{Outcome, Verb};
use crate::clock;
use crate::error::Error;
use crate::printer::{FAINT, STRONG, visible};
use crate::revision::resolve_version;
use crate::session::Session;
use crate::troubles;

const EXAMPLES: &str = "\
Examples:
  varve score
  varve score --explain
  varve score before-the-relaunch --json";

/// Pages are explained one by one up to so many.
const EXPLAINED: usize = 10;
/// Why a score that could be kept is not.
const NOT_KEPT: &str = "the score is not kept: bodies are lacking now, and the one that is kept may have been computed with them";
/// Pages are listed up to so many.
const LISTED: usize = 20;

/// Score how exposed the pages of a version are
///
/// Forms, inputs, scripts, cookies and frames expose a page; headers take some of it back. The score goes from 0 to 100,
/// and that of a version is that of its most exposed page. It is kept with the version, with its evidence, and with
/// how much of the change since the parent is due to which chunk of the diff. With `--readonly`, or where nothing can be written, it is
/// shown and not kept, which is said.
///
/// The change is that of the version's score. The page that makes the score now moves it up, the one that made it before moves it down; if that page moved further, what changed on it counts in proportion. So
/// contributions add up to the change, and percentages, which are shares of all movement up and down, to 100. Pages that do not make the score are told apart.
///
/// A chunk is told by its number, from 0, in the diff of its page with the parent's, as `varve diff --mode letters` shows it, in an
/// archive as in a Moku site; that is what rows of `diffs` hold. Headers stand in no chunk, and neither does what is beyond the first 16 MiB
/// of a page: of those it is -1.
///
/// Against the parent it is told what changed in exposure and protection, whether or not it moved the score: forms and buttons and where they send to, inputs,
/// cookies, scripts (in attributes and addresses, too), modules, frames, objects, a `base` that leads to another site, a page that sends visitors on, and headers that protect. `--explain` says it in sentences, the worst first.
///
/// The `selector` of evidence selects that one element of the page as browsers build it without running scripts. What no selector reaches has none: what is in a `template`, and elements of
/// a page that is longer than 8 MiB or nests deeper than browsers go.
///
/// Pages whose bodies are not here are left out and counted; so are those whose bodies are damaged, and the exit code is 1 then. Where the body
/// that the parent had cannot be had, the headers of the page are compared and its body is not, and that is said. The parent's score is then the one that is kept with it,
/// by the same rules; without one it is not known. A score that was computed without bodies is not kept where one is kept already, which is said too.
///
/// With `--json` there is one object: `version`, `parent`, `before` (the parent's score), `change` (by how much `score` moved), both null where that is not known, `most_exposed` and `most_exposed_before` (the URLs of the pages that make the two scores),
/// `scoring_version`, `score`, `normalized`, `confidence`, `kept`, `pages` (`url`, `path`, `score`, `normalized`, `exposure`, `hardening`), `evidence`,
/// `attributions` (`evidence`, `key`, `path` of the page, `chunk`, `contribution`, `percent`, `note`) and `changes`, one of each page that differs
/// from the parent's (`url`, `file_path`, `score_base`, `score_head`, `score_delta`, `regressed`, `bodies_compared`, `attack_surface_changes` with `kind`, `detail`, `category`,
/// `severity`, `score`, `rule`); with `--explain` also `explanation`, a list of sentences.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Score {
    #[arg(default_value = "HEAD", help = crate::revision::NAMES)]
    version: String,

    /// Say why, in sentences
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for Score {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let (version, scored) = self.score(session)?;
        if self.json {
            let explanation = self.explain.then(|| explanation(&scored));
            session.printer.json(&Line::of(version, &scored, explanation))?;
        } else if self.explain {
            for sentence in explanation(&scored) {
                session.printer.line(visible(&sentence))?;
            }
        } else {
            summary(session, version, &scored)?;
        }
        if let Some(parent) = &scored.lost_parent {
            session.printer.say(format_args!(
                "its parent {} is not here any more, so that nothing is said of a change",
                short(parent)
            ));
        }
        troubles::say(&scored.troubles, "not scored", &mut session.printer);
        troubles::say(&scored.uncompared, "not compared with the parent's", &mut session.printer);
        let is_fault = |trouble| trouble != BodyTrouble::Missing;
        let is_finding = scored.troubles.count(is_fault) + scored.uncompared.count(is_fault) > 0;
        Ok(if is_finding { Outcome::Findings } else { Outcome::Done })
    }
}

impl Score {
    /// Scores the version, and keeps the score where that can be done.
    fn score(&self, session: &mut Session) -> Result<(VersionId, Scored), Error> {
        let history = match session.try_open_history()? {
            Ok(history) => history,
            Err(why) => {
                let (version, scored) = self.only_compute(session)?;
                session.printer.say(format_args!("the score is not kept: {why}"));
                return Ok((version, scored));
            }
        };
        let version = resolve_version(history.as_holdings(), &self.version)?;
        let progress = session.printer.progress(None, "pages");
        let scored = score(&*history, version, &|more| progress.inc(more))?;
        drop(progress);
        if !scored.is_kept {
            session.printer.say(NOT_KEPT);
        }
        Ok((version, scored))
    }

    fn only_compute(&self, session: &mut Session) -> Result<(VersionId, Scored), Error> {
        let holdings = session.holdings()?;
        let version = resolve_version(&*holdings, &self.version)?;
        let progress = session.printer.progress(None, "pages");
        let now = Moment::from(clock::now().instant);
        Ok((version, compute(&*holdings, version, now, &|more| progress.inc(more))?))
    }
}

fn summary(session: &mut Session, version: VersionId, scored: &Scored) -> Result<(), Error> {
    let before = match (&scored.before, scored.parent) {
        (Some(before), Some(parent)) => format!(" ({} in {})", before.normalized, short(&parent)),
        (None, Some(parent)) if scored.is_lacking => format!(" (not known in {})", short(&parent)),
        _ => String::new(),
    };
    session.printer.line(format_args!(
        "{STRONG}{}{STRONG:#} of 100  {}{before}",
        scored.row.normalized,
        short(&version)
    ))?;
    for page in scored.pages.iter().take(LISTED) {
        session.printer.line(format_args!("{:>3}  {}", page.normalized, visible(&page.url)))?;
    }
    let left = scored.pages.len().saturating_sub(LISTED);
    if left > 0 {
        session.printer.line(format_args!("{FAINT}{left} more, none of them higher{FAINT:#}"))?;
    }
    Ok(())
}

/// Why the most exposed pages have their scores, and what moved them.
fn explanation(scored: &Scored) -> Vec<String> {
    // What a page lacks is worth nothing where there is nothing to protect: such pages are counted, unless all are such.
    let exposed = scored.pages.iter().filter(|page| page.normalized > 0).count();
    let explained = exposed.clamp(1, EXPLAINED);
    let mut sentences: Vec<String> = scored.pages.iter().take(explained).flat_map(Scored::explain).collect();
    let left = scored.pages.len().saturating_sub(explained);
    let bound = if exposed > explained { "no higher" } else { "0" };
    match left {
        0 => {}
        1 => sentences.push(format!("1 more page scores {bound}.")),
        _ => sentences.push(format!("{left} more pages score {bound}.")),
    }
    if let Some(parent) = scored.parent {
        sentences.extend(scored.makers.clone());
        sentences.extend(history(scored, &short(&parent)));
        sentences.extend(scored.moves.iter().cloned());
        sentences.extend(scored.others.clone());
    }
    let changes = scored.explain_changes();
    if let Some(parent) = scored.parent.filter(|_| !changes.is_empty()) {
        sentences.push(format!("What changed in exposure and protection since {}:", short(&parent)));
        sentences.extend(changes);
    }
    sentences
}

/// How the score came from that of the parent, as far as that is known; nothing if the parent has no page.
fn history(scored: &Scored, parent: &str) -> Option<String> {
    Some(match &scored.before {
        Some(before) if scored.is_explained => heading(scored, before.normalized, parent),
        Some(before) => format!(
            "The score in {parent} {} {}. What moved it is not known: it takes bodies that cannot be had.",
            if before.is_from_row { "is kept as" } else { "was" },
            before.normalized,
        ),
        None if scored.is_explained => return None,
        None => format!(
            "The score in {parent} is not known: it takes bodies that cannot be had, and none is kept with it."
        ),
    })
}

/// How the score came from that of the parent; what moved it follows.
fn heading(scored: &Scored, before: u8, parent: &str) -> String {
    let (now, change) = (scored.row.normalized, scored.change.unwrap_or_default());
    if scored.moves.is_empty() {
        return match scored.changes.is_empty() {
            true => format!("Nothing that counts changed since {parent}, which scored {before}."),
            false => format!("The score is what it was in {parent}: {before}."),
        };
    }
    if now != before {
        return format!("Since {parent}, which scored {before}, it came to {now} by:");
    }
    match change.abs() < LITTLE {
        true => format!("The score is what it was in {parent}: {before}. These make up for each other:"),
        false => format!(
            "The score is what it was in {parent}: {before}. Before it is cut to a whole number of at most 100 it moved by {change:+.4}:"
        ),
    }
}

/// A movement below this is none.
const LITTLE: f64 = 1e-9;

#[derive(Serialize)]
struct Line<'a> {
    version: String,
    parent: Option<String>,
    before: Option<u8>,
    change: Option<f64>,
    most_exposed: &'a str,
    most_exposed_before: Option<&'a str>,
    scoring_version: &'a str,
    score: f64,
    normalized: u8,
    confidence: f64,
    kept: bool,
    pages: Vec<PageLine<'a>>,
    evidence: Vec<EvidenceLine<'a>>,
    attributions: Vec<AttributionLine<'a>>,
    changes: &'a [SecurityDiff],
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Vec<String>>,
}

#[derive(Serialize)]
struct PageLine<'a> {
    url: &'a str,
    path: &'a str,
    score: f64,
    normalized: u8,
    exposure: f64,
    hardening: f64,
}

#[derive(Serialize)]
struct EvidenceLine<'a> {
    id: &'a str,
    key: &'a str,
    path: Option<&'a str>,
    selector: Option<&'a str>,
    bytes: Option<(u64, u64)>,
    lines: Option<(u64, u64)>,
}

#[derive(Serialize)]
struct AttributionLine<'a> {
    evidence: &'a str,
    key: &'a str,
    path: &'a str,
    chunk: i64,
    contribution: f64,
    percent: f64,
    note: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn of(version: VersionId, scored: &'a Scored, explanation: Option<Vec<String>>) -> Self {
        let row = &scored.row;
        let evidence = row.evidence.iter().map(|evidence| EvidenceLine {
            id: &evidence.evidence_id,
            key: &evidence.key,
            path: evidence.file_path.as_deref(),
            selector: evidence.selector.as_deref(),
            bytes: evidence.bytes,
            lines: evidence.lines,
        });
        let attributions = row.attributions.iter().zip(&scored.attributed);
        let attributions = attributions.map(|(attribution, path)| AttributionLine {
            evidence: &attribution.evidence_id,
            key: &attribution.key,
            path,
            chunk: attribution.chunk_index,
            contribution: attribution.contribution,
            percent: attribution.percent,
            note: attribution.note.as_deref(),
        });
        Self {
            version: version.to_string(),
            parent: scored.parent.or(scored.lost_parent).map(|parent| parent.to_string()),
            before: scored.before.as_ref().map(|before| before.normalized),
            change: scored.change,
            most_exposed: &scored.most_exposed,
            most_exposed_before: scored.before.as_ref().and_then(|before| before.most_exposed.as_deref()),
            scoring_version: &row.scoring_version,
            score: row.score,
            normalized: row.normalized,
            confidence: row.confidence,
            kept: scored.is_kept,
            pages: scored.pages.iter().map(page_line).collect(),
            evidence: evidence.collect(),
            attributions: attributions.collect(),
            changes: &scored.changes,
            explanation,
        }
    }
}

fn page_line(page: &PageScore) -> PageLine<'_> {
    let PageScore { url, file_path: path, score, normalized, exposure, hardening, .. } = page;
    PageLine { url, path, score: *score, normalized: *normalized, exposure: *exposure, hardening: *hardening }
}
