//! `audit` of a Moku site: verifies that its contents are unchanged and consistent.
//!
//! Checks every body against its name, and every row against the rows and bodies it references.
//! Checks every version that varve made against its id, and every stored diff and score against its
//! versions. Checks HEAD against the versions, and the working tree against HEAD.
//!
//! Nothing is changed. The next writer repairs HEAD or the tree, and lost data is reported.

mod diffs;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use varve_file::RootedFiles;
use varve_repository::RepositoryError;

use varve_catalog::CatalogError;
use varve_core::body::BodySource;
use varve_core::fact::{Manifest, ManifestPage, StateChanges};
use varve_core::history::{Capture, ListCursor, Version, VersionFilter};
use varve_core::{BodyId, VersionId};
use varve_moku::MokuFinding;
use varve_score::RulePack;
use varve_store::audit::{AuditFinding, AuditKind};
use varve_store::body::{LooseFile, too_long_body};
use varve_store::error_text;

use super::audit::{AuditReport, CheckedItems};
use crate::error::ArchiveError;
use varve_repository::history::{
    BODY_FILE, HEADERS_FILE, HeadState, MAX_HEADERS_BYTES, MokuHistoryReader, VersionPages, are_headers_of,
    digest_of, original_folder, tree_folder,
};

/// The tables of derived data, which can be computed again.
const DERIVED_TABLES: [&str; 4] =
    ["diffs", "version_scores", "version_evidence_locations", "diff_attributions"];

/// Counts of the audited items.
#[derive(Default)]
struct SiteCounts {
    captures: u64,
    bodies: u64,
    bytes: u64,
}

/// Audits the site at `root`. `quick` reads no body. `progress` is called with the number of bytes
/// just processed.
pub fn audit_site(
    root: &Path,
    quick: bool,
    progress: &dyn Fn(u64),
    found: &mut dyn FnMut(AuditFinding),
) -> Result<AuditReport, ArchiveError> {
    let site = MokuHistoryReader::open(root)?;
    let mut done = SiteCounts::default();
    let mut count = 0;
    let mut tell = |finding: AuditFinding| {
        count += 1;
        found(finding);
    };
    let rows = site.moku().audit_rows(quick, &mut |trouble| tell(of_rows(&trouble)));
    step(rows, &mut tell);
    let here = step(bodies(&site, quick, &mut done, progress, &mut tell), &mut tell);
    if let Some(here) = here {
        step(snapshots(&site, &here, &mut done, &mut tell), &mut tell);
    }
    let versions = step(versions(&site, quick, &mut tell), &mut tell).unwrap_or(0);
    if !quick {
        let rules = &RulePack::exposure_1().scoring_version;
        let scores = site.moku().audit_scores(rules, &mut |trouble| tell(of_rows(&trouble)));
        step(scores, &mut tell);
        step(diffs::diffs(&site, &mut tell), &mut tell);
    }
    let head = step(head(&site, &mut tell), &mut tell);
    if head == Some(HeadState::Right) && !quick {
        step(working_tree(&site, &mut tell), &mut tell);
    }
    let SiteCounts { captures, bodies, bytes } = done;
    let checked = CheckedItems::Site { versions, bodies };
    Ok(AuditReport { records: captures, bytes, findings: count, checked })
}

/// The result of a step of the audit. One that failed is a finding, and the next step follows.
fn step<T, E: Into<ArchiveError>>(result: Result<T, E>, tell: &mut dyn FnMut(AuditFinding)) -> Option<T> {
    match result.map_err(Into::into) {
        Ok(value) => Some(value),
        Err(error) => {
            let message = format!(
                "the database cannot be read: {}; put `moku.db` back from a copy",
                error_text(&error)
            );
            tell(finding(AuditKind::Rows, None, message));
            None
        }
    }
}

/// Total bytes of all bodies, for a progress display.
pub fn bytes_to_read(root: &Path) -> Result<u64, ArchiveError> {
    let site = MokuHistoryReader::open(root)?;
    Ok(site.bodies().list()?.iter().map(|file| file.length).sum())
}

fn finding(kind: AuditKind, id: Option<&str>, message: String) -> AuditFinding {
    AuditFinding { id: id.map(str::to_owned), ..AuditFinding::new(kind, message) }
}

fn of_rows(trouble: &MokuFinding) -> AuditFinding {
    match trouble {
        MokuFinding::Damaged { what } => {
            finding(AuditKind::Rows, None, format!("the database is damaged: {what}"))
        }
        MokuFinding::Dangling { table, row, refers_to } => {
            let number = row.map(|row| format!(" {row}")).unwrap_or_default();
            let message = format!("row{number} of `{table}` refers to a missing row of `{refers_to}`");
            match row.filter(|_| DERIVED_TABLES.contains(&table.as_str())) {
                Some(row) => {
                    let advice = format!(
                        "nothing is lost with it: `DELETE FROM {table} WHERE rowid = {row}` removes it"
                    );
                    finding(AuditKind::Derived, None, format!("{message}; {advice}"))
                }
                None => finding(AuditKind::Rows, None, message),
            }
        }
        MokuFinding::Score { table, row, version, rules, what } => {
            let message = format!("row {row} of `{table}`, about version {version}: {what}");
            let advice = match *rules == RulePack::exposure_1().scoring_version {
                true => format!("`varve score {version}` makes it again"),
                false => format!(
                    "the program that scored by the rules `{}` can make it again",
                    rules.escape_debug()
                ),
            };
            finding(AuditKind::Derived, Some(version), format!("{message}; {advice}"))
        }
        MokuFinding::NoParent { version, parent } => {
            let message = format!("version {version} descends from {parent}, which is missing");
            finding(AuditKind::History, Some(version), message)
        }
        MokuFinding::LostVersion { version } => {
            let message = format!("version {version} was committed here, and its rows are gone");
            finding(AuditKind::History, Some(version), message)
        }
        MokuFinding::ParentCycle { version } => {
            let message = format!("version {version} descends from itself");
            finding(AuditKind::History, Some(version), message)
        }
        MokuFinding::EmptyProject => {
            finding(AuditKind::Rows, None, "the site belongs to a project without an id".to_owned())
        }
    }
}

/// The greatest recorded length of each body; no limit if a capture of it has none.
fn recorded_lengths(site: &MokuHistoryReader) -> Result<HashMap<BodyId, u64>, ArchiveError> {
    let mut lengths: HashMap<BodyId, u64> = HashMap::new();
    site.moku().each_snapshot(&mut |snapshot| {
        if let Ok(body) = snapshot.body.parse() {
            let length = snapshot.length.unwrap_or(u64::MAX);
            lengths.entry(body).and_modify(|most| *most = length.max(*most)).or_insert(length);
        }
    })?;
    Ok(lengths)
}

/// Checks every body against its recorded length and its name. Returns the bodies that exist, damaged
/// or not. A body that is too long is not read: it may be of any length.
fn bodies(
    site: &MokuHistoryReader,
    quick: bool,
    done: &mut SiteCounts,
    progress: &dyn Fn(u64),
    tell: &mut dyn FnMut(AuditFinding),
) -> Result<HashSet<BodyId>, ArchiveError> {
    let (mut here, files) = (HashSet::new(), RootedFiles::new(site.root()));
    // Rows that cannot be read are reported by the next step.
    let lengths = recorded_lengths(site).unwrap_or_default();
    for LooseFile { id, path, length } in site.bodies().list()? {
        // A file without an id was never completed, so nothing references it.
        let Some(id) = id else { continue };
        here.insert(id);
        done.bodies += 1;
        if let Some(most) = lengths.get(&id).filter(|most| length > **most) {
            tell(finding(AuditKind::Digest, Some(&id.to_string()), too_long_body(&id, length, *most)));
        } else if !quick {
            done.bytes += length;
            let is = digest_of(&files, &path, &[None]).map_err(ArchiveError::read(&path))?;
            if let Some(is) = is.filter(|is| *is != id) {
                let message = format!("body {id} is damaged: its SHA-256 is {is}");
                tell(finding(AuditKind::Digest, Some(&id.to_string()), message));
            }
        }
        progress(length);
    }
    Ok(here)
}

/// Checks that the body of every capture exists. A missing body is reported once, with the number
/// of captures that reference it.
fn snapshots(
    site: &MokuHistoryReader,
    here: &HashSet<BodyId>,
    done: &mut SiteCounts,
    tell: &mut dyn FnMut(AuditFinding),
) -> Result<(), ArchiveError> {
    let mut missing: BTreeMap<String, (u64, String)> = BTreeMap::new();
    site.moku().each_snapshot(&mut |snapshot| {
        done.captures += 1;
        let id: Option<BodyId> = snapshot.body.parse().ok();
        if !id.is_some_and(|id| here.contains(&id)) {
            let first = || {
                let of = snapshot.version.as_deref().unwrap_or("an unfinished run");
                format!("{}, in {of}", snapshot.url)
            };
            missing.entry(snapshot.body.clone()).or_insert_with(|| (0, first())).0 += 1;
        }
    })?;
    for (body, (count, first)) in missing {
        let others = if count > 1 { format!(" and {} more captures", count - 1) } else { String::new() };
        let message = match body.parse::<BodyId>() {
            Ok(_) => format!("body {body} is missing: it belongs to {first}{others}"),
            Err(_) => {
                format!("`{}` is not the id of a body: it belongs to {first}{others}", body.escape_debug())
            }
        };
        tell(finding(AuditKind::BodyMissing, Some(&body), message));
    }
    Ok(())
}

/// Counts the versions, and checks each against its id.
fn versions(
    site: &MokuHistoryReader,
    quick: bool,
    tell: &mut dyn FnMut(AuditFinding),
) -> Result<u64, ArchiveError> {
    const ROWS_PER_QUERY: usize = 500;
    let (mut count, mut after) = (0, None);
    loop {
        let piece = site
            .catalog()
            .versions(&VersionFilter::default(), ListCursor { after, limit: ROWS_PER_QUERY })?;
        count += piece.len() as u64;
        for version in piece.iter().map(|info| &info.version).filter(|_| !quick) {
            if !is_what_it_was(site, version)? {
                let id = version.id.to_string();
                let message = format!(
                    "version {id} is not what was committed: its parent, message, author, time or pages were changed"
                );
                tell(finding(AuditKind::History, Some(&id), message));
            }
        }
        match piece.last() {
            Some(last) if piece.len() == ROWS_PER_QUERY => after = Some(last.version.id),
            _ => return Ok(count),
        }
    }
}

/// Whether the contents of a version still hash to its id. Moku chooses random ids, so its versions
/// cannot be verified.
fn is_what_it_was(site: &MokuHistoryReader, version: &Version) -> Result<bool, ArchiveError> {
    const FROM_A_DIGEST: usize = 8;
    if version.id.into_inner().get_version_num() != FROM_A_DIGEST || version.run.is_some() {
        return Ok(true);
    }
    let Some(pages) = pages_of_manifest(site, version.id)? else { return Ok(false) };
    let manifest = Manifest {
        parent: site.moku().first_parent(&version.id)?.or(version.parent),
        message: version.message.clone(),
        author: version.author.clone(),
        time: version.time,
        run: None,
        coverage: None,
        inline: StateChanges { pages, ..StateChanges::default() },
        changes: Vec::new(),
        plan: None,
        expectations: BTreeMap::new(),
        source: None,
    };
    // A row does not distinguish an empty author from none.
    let nameless = Manifest { author: Some(String::new()), ..manifest.clone() };
    let gives_the_id = |manifest: &Manifest| {
        let json = serde_json::to_vec(manifest).expect("a manifest can be written as JSON");
        Manifest::version_id(&json) == version.id
    };
    Ok(gives_the_id(&manifest) || (manifest.author.is_none() && gives_the_id(&nameless)))
}

/// The pages of a version as in its manifest; `None` if a row lacks a field that varve always
/// writes.
fn pages_of_manifest(
    site: &MokuHistoryReader,
    version: VersionId,
) -> Result<Option<Vec<ManifestPage>>, ArchiveError> {
    let mut pages = Vec::new();
    for page in VersionPages::new(site.catalog(), Some(version)) {
        let page = match page {
            // A row that is not a valid capture is not a page either, and is reported elsewhere.
            Err(RepositoryError::Catalog(CatalogError::Damaged { .. })) => return Ok(None),
            other => other?,
        };
        let Some(length) = page.length else { return Ok(None) };
        let Capture { url, path, time, status, headers, body, .. } = page;
        let (record, truncated) = (None, false);
        pages.push(ManifestPage { url, path, time, status, headers, body, length, record, truncated });
    }
    Ok(Some(pages))
}

fn head(site: &MokuHistoryReader, tell: &mut dyn FnMut(AuditFinding)) -> Result<HeadState, ArchiveError> {
    if let Some(lost) = site.moku().lost_head()?
        && site.catalog().version(&lost)?.is_none()
    {
        let message = format!(
            "version {lost}, which HEAD named, has no rows: restore `moku.db` from a copy, or accept the loss \
             with `varve gc --accept-lost`"
        );
        tell(finding(AuditKind::History, Some(&lost.to_string()), message));
    }
    let state = site.head_as_it_is()?;
    let intended = site.intended_head();
    let is_there = match intended {
        Some(version) => site.catalog().version(&version)?.is_some(),
        None => false,
    };
    if let Some(version) = intended.filter(|_| is_there) {
        let message =
            format!("a move of HEAD to {version} was interrupted; the next verb that writes completes it");
        tell(finding(AuditKind::Head, Some(&version.to_string()), message));
        return Ok(HeadState::Missing { to: version });
    }
    if state != HeadState::Right {
        let to = state
            .wanted()
            .map(|to| format!("; the next verb that writes moves it to {to}"))
            .unwrap_or_default();
        tell(finding(AuditKind::Head, None, format!("{state}{to}")));
    }
    Ok(state)
}

/// Compares the files of the working tree with the pages of HEAD. If several pages share a path,
/// one of them must be there.
fn working_tree(site: &MokuHistoryReader, tell: &mut dyn FnMut(AuditFinding)) -> Result<(), ArchiveError> {
    let mut at_path: Vec<Capture> = Vec::new();
    for page in VersionPages::new(site.catalog(), site.head()?) {
        let page = page?;
        if at_path.first().is_some_and(|other| other.path != page.path) {
            look_at_files(site, &at_path, tell)?;
            at_path.clear();
        }
        at_path.push(page);
    }
    look_at_files(site, &at_path, tell)
}

fn look_at_files(
    site: &MokuHistoryReader,
    pages: &[Capture],
    tell: &mut dyn FnMut(AuditFinding),
) -> Result<(), ArchiveError> {
    let Some(first) = pages.first() else { return Ok(()) };
    // A missing body has already been reported.
    if site.bodies().have_bodies(&[first.body])? == [false] {
        return Ok(());
    }
    let files = RootedFiles::new(site.root());
    let trouble = look_in(&files, &tree_folder(site.root(), &first.path), pages);
    let elsewhere = original_folder(&first.path).map(|folder| site.root().join(folder));
    let is_elsewhere = elsewhere.is_some_and(|folder| look_in(&files, &folder, pages).is_none());
    if let Some(message) = trouble.filter(|_| !is_elsewhere) {
        tell(finding(AuditKind::WorkingTree, None, message));
    }
    Ok(())
}

/// The problem with the files in a folder, if they are not those of one of these pages.
fn look_in(files: &RootedFiles, folder: &Path, pages: &[Capture]) -> Option<String> {
    let (body, headers) = (folder.join(BODY_FILE), folder.join(HEADERS_FILE));
    let lengths: Vec<_> = pages.iter().map(|page| page.length).collect();
    match digest_of(files, &body, &lengths) {
        Ok(Some(is)) if pages.iter().any(|page| page.body == is) => {}
        Ok(_) => return Some(format!("`{}` is not the body of HEAD", body.display())),
        Err(error) => return Some(format!("`{}` of HEAD cannot be read: {error}", body.display())),
    }
    match files.read_text(&headers, MAX_HEADERS_BYTES) {
        Ok(Some(text)) if pages.iter().any(|page| are_headers_of(page, &text)) => None,
        Ok(None) => Some(format!("`{}` of HEAD is missing", headers.display())),
        Ok(_) => Some(format!("`{}` does not hold the headers of HEAD", headers.display())),
        Err(error) => Some(format!("`{}` of HEAD cannot be read: {error}", headers.display())),
    }
}
