//! A project made from the captures of versions, which need not come from Crystal.
//!
//! In Crystal the id of a revision also gives its order, so captures are numbered by their times.
//! If the exact response is stored, the project gets its head and payload unchanged. A page that
//! was committed by hand has its body and the headers in its row.

use varve_core::history::Capture;
use varve_core::{RecordId, VersionId};
use varve_crystal::{BodyDraft, DownloadOutcome, NewRevision, ProjectWriter, ResponseMetadata};
use varve_wire::{MessageHead, StartLine};

use super::{ProjectExported, ROWS_PER_BATCH, body_from, is_refusal};
use crate::error::ArchiveError;
use crate::verbs::intent::plan_of;
use crate::verbs::plan::load;
use varve_repository::history::{ArchiveHistoryReader, StatePages, VersionPages};

/// The status of a response for unchanged content.
const NOT_MODIFIED: u16 = 304;

/// Fills an empty project with the captures of versions and with their plan: the present one if
/// HEAD is among them, otherwise that of the first version that has one.
pub(super) fn write(
    history: &ArchiveHistoryReader,
    versions: &[VersionId],
    writer: &mut ProjectWriter,
    progress: &dyn Fn(u64),
) -> Result<ProjectExported, ArchiveError> {
    let mut done = ProjectExported::default();
    write_captures(history, versions, writer, (&mut done, progress))?;
    let head = history.head()?;
    let mut plan = None;
    for version in versions {
        let (then, expectations) = plan_of(history, *version)?;
        plan = plan.or(then);
        done.leave_many("expectation files", expectations);
    }
    if versions.iter().any(|version| Some(*version) == head) {
        plan = Some(load(history.archive().layout())?.plan);
    }
    if let Some(plan) = plan {
        super::plan::write(&plan, writer, &mut done)?;
    }
    done.resources = writer.quick_info()?.resources;
    done.leave_many("messages and authors of versions", versions.len() as u64);
    let mut tags = history.catalog().tags()?;
    tags.retain(|tag| versions.contains(&tag.version));
    done.leave_many("tags", tags.len() as u64);
    Ok(done)
}

/// The captures of versions in the order of time, each once.
fn captures_of(history: &ArchiveHistoryReader, versions: &[VersionId]) -> Result<Vec<Capture>, ArchiveError> {
    let mut captures: Vec<Capture> = Vec::new();
    for version in versions {
        let pages = VersionPages::new(history.catalog(), Some(*version));
        captures.extend(pages.collect::<Result<Vec<_>, _>>()?);
        let parent = history.catalog().version(version)?.and_then(|info| info.version.parent);
        if !parent.is_some_and(|parent| versions.contains(&parent)) {
            // The version also has the pages that it did not change.
            for page in StatePages::new(history.catalog(), Some(*version)) {
                captures.extend(page?.into_shown());
            }
        }
    }
    captures
        .sort_by(|one, other| (one.time, &one.url, one.record).cmp(&(other.time, &other.url, other.record)));
    captures.dedup_by(|one, other| {
        (one.time, &one.url, one.record, one.body) == (other.time, &other.url, other.record, other.body)
    });
    Ok(captures)
}

fn write_captures(
    history: &ArchiveHistoryReader,
    versions: &[VersionId],
    writer: &mut ProjectWriter,
    (done, progress): (&mut ProjectExported, &dyn Fn(u64)),
) -> Result<(), ArchiveError> {
    let mut batch = Vec::new();
    for capture in &captures_of(history, versions)? {
        let resource = match writer.add_resource(&capture.url) {
            Err(error) if is_refusal(&error) => {
                done.leave("captures with URLs that a project cannot store");
                continue;
            }
            resource => resource?.id,
        };
        let (metadata, body) = answer(history, writer, capture)?;
        let outcome = DownloadOutcome::Fetched { metadata: Some(metadata), body };
        batch.push(NewRevision { id: None, resource, request_cookie: None, outcome });
        if capture.truncated {
            done.leave("marks of truncated responses");
        }
        done.revisions += 1;
        if batch.len() >= ROWS_PER_BATCH {
            writer.add_revisions(batch.drain(..))?;
        }
        progress(1);
    }
    writer.add_revisions(batch)?;
    Ok(())
}

/// The response of a capture, and its body.
fn answer(
    history: &ArchiveHistoryReader,
    writer: &ProjectWriter,
    capture: &Capture,
) -> Result<(ResponseMetadata, BodyDraft), ArchiveError> {
    let record = capture.record.unwrap_or(RecordId::of_body(capture.body));
    let head = history.wire_head(capture)?.and_then(|head| MessageHead::parse(&head));
    let payload = history.archive().ask(|store| Ok(store.response_payload(&record)?))?;
    let (Some(head), Some(payload)) = (head, payload) else {
        let shown = capture.headers.shown(history.redaction());
        let headers = shown.pairs().collect();
        let metadata = ResponseMetadata::new(11, capture.status.into(), b"", &headers, capture.time.utc());
        return Ok((metadata, body_from(writer, history.open_body(capture)?, record)?));
    };
    let reason = match &head.start_line {
        StartLine::Response { reason, .. } => reason.as_slice(),
        StartLine::Request { .. } => b"",
    };
    let metadata =
        ResponseMetadata::new(11, capture.status.into(), reason, &head.headers, capture.time.utc());
    // In Crystal a 304 has no body: the revision it stands for is found by its ETag.
    let body = if capture.status == NOT_MODIFIED {
        writer.begin_body()?
    } else {
        body_from(writer, payload, record)?
    };
    Ok((metadata, body))
}
