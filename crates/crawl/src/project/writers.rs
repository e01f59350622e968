//! Stores responses in a project and reads their links.
//!
//! A stored body has its transfer coding removed and its content codings kept. The thread that
//! received the response writes the body to `tmp` and makes it durable.
//!
//! A response that is not HTTP is recorded as a failure. So is a truncated response, unless its row
//! shows the truncation by its `Content-Length`. Crystal does the same.

use std::io::{self, BufReader, Read, Write};

use sha2::{Digest, Sha256};
use varve_core::exchange::Exchange;
use varve_core::headers::Headers;
use varve_core::secret::Secret;
use varve_crystal::{
    BodyDraft, BodyLookup, DownloadError, DownloadOutcome as Got, Project, ResponseMetadata, Revision,
    RevisionId,
};
use varve_store::StoreError;
use varve_wire::{DecodeLimits, MAX_HEAD_BYTES, MessageBytes, open_body};

use super::super::crawl_policy::CrawlPolicy;
use super::super::destination::{ResponseWriter, ResponseWriters};
use super::super::discovered_link::ResponseLinks;
use super::super::fetch_reason::FetchReason;
use super::super::past_captures::StoredCapture;
use super::super::read_response::{ReadResponse, decoded_body, read_response};
use super::super::task::CrawlTask;
use super::super::write_job::{JobInput, StoredAs, StoredResponse, StoredRevision};
use super::response_head::{metadata, only_tag};
use super::{ProjectDestination, download_error};
use varve_repository::RepositoryError;

use crate::error::CrawlError;

/// Maximum number of links of one page that are recorded.
const MAX_RECORDED_LINKS: usize = 60_000;
const STATUS_NOT_MODIFIED: u16 = 304;

/// Makes the writers of a project.
pub(super) struct ProjectWriters<'a> {
    pub(super) destination: &'a ProjectDestination,
    pub(super) policy: &'a CrawlPolicy,
}

/// The links and other content read from a response.
#[derive(Default)]
struct ParsedResponse {
    links: ResponseLinks,
    robots: Option<Vec<u8>>,
    /// Links to record as resources.
    recorded: Vec<String>,
}

impl ResponseWriters for ProjectWriters<'_> {
    fn writer(&self) -> ResponseWriter<'_> {
        Box::new(move |task, input| match input {
            JobInput::Response(exchange, _) => self.keep(task, &exchange),
            JobInput::Stored(StoredCapture::Revision(id)) => self.look_again(task, id),
            JobInput::Stored(StoredCapture::Capture(_)) => {
                Err(RepositoryError::Absent { id: task.url.to_string() }.into())
            }
        })
    }
}

impl ProjectWriters<'_> {
    fn keep(&self, task: &CrawlTask, exchange: &Exchange) -> Result<StoredResponse, CrawlError> {
        let cookie = exchange.cookie.clone();
        let bytes = exchange.response.len();
        let tag = only_tag(&exchange.request);
        let head = exchange.response.head().map_err(unreadable)?;
        let Some(metadata) = head.and_then(|head| metadata(head, exchange.at, tag.as_deref())) else {
            if task.reason == FetchReason::Robots {
                return Ok(nothing(bytes));
            }
            let start = exchange.response.start(MAX_HEAD_BYTES).map_err(unreadable)?;
            return Err(self.keep_failure(task.url.as_str(), cookie, download_error::no_http(&start)));
        };
        let status = u16::try_from(metadata.status_code).unwrap_or(0);
        if task.reason == FetchReason::Robots {
            // The run fetches `robots.txt` for its own use; it is not part of the project.
            let mut body = decoded_body(&exchange.response)?;
            let found = self.read(task, status, &metadata.wire_headers(), &mut body);
            return Ok(StoredResponse { robots: found.robots, links: found.links, status, ..nothing(bytes) });
        }
        let (body, digest) = self.write_body(&exchange.response)?;
        let length = body.length();
        if let Some(error) =
            exchange.truncated.and_then(|why| download_error::cut_short(why, &metadata, length))
        {
            return Err(self.keep_failure(task.url.as_str(), cookie, error));
        }
        let former = self.former(task.url.as_str(), &metadata)?;
        let unchanged = former.as_ref().is_some_and(|former| {
            status == STATUS_NOT_MODIFIED || self.has_same_body(former, length, &digest).unwrap_or(false)
        });
        let mut found = match former.filter(|_| status == STATUS_NOT_MODIFIED) {
            Some(former) => self.read_stored(task, &former)?,
            None => self.read(task, status, &metadata.wire_headers(), &mut decoded_body(&exchange.response)?),
        };
        let mut pending = self.destination.pending();
        pending.link(std::mem::take(&mut found.recorded));
        pending.add(task.url.as_str(), cookie, Got::Fetched { metadata: Some(metadata), body });
        let truncated = exchange.truncated.map(|truncated| truncated.word());
        let revision = StoredRevision { time: exchange.at, length, unchanged, truncated };
        let ParsedResponse { links, robots, .. } = found;
        Ok(StoredResponse { stored: StoredAs::Revision(revision), status, bytes, links, robots })
    }

    /// Records a response as a failure, and returns the error to report.
    fn keep_failure(&self, url: &str, cookie: Option<Secret<String>>, error: DownloadError) -> CrawlError {
        let DownloadError { kind, message } = error.clone();
        self.destination.pending().add(url, cookie, Got::Failed(error));
        CrawlError::RecordedAsFailure { kind, message }
    }

    /// Reads a revision of this run again, because its URL was requested for another reason.
    fn look_again(&self, task: &CrawlTask, id: RevisionId) -> Result<StoredResponse, CrawlError> {
        let found = self.destination.open.ask(|project| {
            let revision = project.revision(id)?;
            revision.map(|revision| project.resolve(revision)).transpose()
        })?;
        let Some(resolved) = found.flatten() else { return Ok(nothing(0)) };
        let status = resolved.metadata.map_or(0, |metadata| u16::try_from(metadata.status_code).unwrap_or(0));
        let found = self.read_stored(task, &resolved.revision)?;
        Ok(StoredResponse { links: found.links, status, ..nothing(0) })
    }

    /// The earlier revision that a response may be equal to. For a 304, it is the one with the same
    /// ETag.
    fn former(&self, url: &str, metadata: &ResponseMetadata) -> varve_crystal::Result<Option<Revision>> {
        let Some(resource) = self.destination.open.resource(url)? else { return Ok(None) };
        let tag = metadata.header("ETag").filter(|_| metadata.status_code == i64::from(STATUS_NOT_MODIFIED));
        let found = self.destination.open.ask(|project: &Project| {
            for revision in project.revisions_of(resource.id) {
                let revision = revision?;
                let Some(older) = revision.metadata().ok().flatten() else { continue };
                let is_it = older.status_code != i64::from(STATUS_NOT_MODIFIED)
                    && tag.is_none_or(|tag| older.header("ETag") == Some(tag));
                if is_it {
                    return Ok(Some(revision));
                }
            }
            Ok(None)
        });
        Ok(found?.flatten())
    }

    fn has_same_body(&self, former: &Revision, length: u64, digest: &[u8]) -> varve_crystal::Result<bool> {
        if self.destination.open.ask(|project| project.body_length(former.id))?.flatten() != Some(length) {
            return Ok(false);
        }
        let Some(mut body) = self.body(former)? else { return Ok(false) };
        let mut hasher = Sha256::new();
        let mut take = |bytes: &[u8]| {
            hasher.update(bytes);
            Ok(())
        };
        Ok(copy(&mut body, &mut take).is_ok() && hasher.finalize()[..] == *digest)
    }

    fn body(&self, revision: &Revision) -> varve_crystal::Result<Option<varve_crystal::RevisionBody>> {
        Ok(match self.destination.open.ask(|project| project.body_of(revision))? {
            Some(BodyLookup::Found(body)) => Some(body),
            _ => None,
        })
    }

    /// Writes the body of a response to `tmp` and makes it durable.
    fn write_body(&self, response: &MessageBytes) -> Result<(BodyDraft, Vec<u8>), CrawlError> {
        let lock = self.destination.open.lock();
        let begun = lock.as_ref().map(|writer| writer.begin_body()).transpose()?;
        drop(lock);
        let mut draft = begun.ok_or_else(|| unreadable(io::Error::other("the project is closed")))?;
        let mut hasher = Sha256::new();
        if let Some(mut body) = response.open_payload(DecodeLimits::default()).map_err(unreadable)? {
            let mut take = |bytes: &[u8]| {
                hasher.update(bytes);
                draft.write_all(bytes)
            };
            copy(&mut body, &mut take).map_err(unreadable)?;
        }
        draft.finish()?;
        Ok((draft, hasher.finalize().to_vec()))
    }

    fn read(&self, task: &CrawlTask, status: u16, headers: &Headers, body: &mut dyn Read) -> ParsedResponse {
        let mut recorded = Vec::new();
        let mut take = |link: &str| {
            if recorded.len() < MAX_RECORDED_LINKS && is_recorded(link) {
                recorded.push(link.split('#').next().unwrap_or(link).to_owned());
            }
        };
        let ReadResponse { links, robots } =
            read_response(self.policy, task, (status, headers), body, &mut take);
        ParsedResponse { links, robots, recorded }
    }

    /// Reads the links of a stored revision.
    fn read_stored(&self, task: &CrawlTask, revision: &Revision) -> varve_crystal::Result<ParsedResponse> {
        let Some(metadata) = revision.metadata().ok().flatten() else { return Ok(ParsedResponse::default()) };
        let Some(body) = self.body(revision)? else { return Ok(ParsedResponse::default()) };
        let headers = metadata.wire_headers();
        let status = u16::try_from(metadata.status_code).unwrap_or(0);
        let codings =
            headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"content-encoding")).collect();
        Ok(match open_body(&codings, BufReader::new(body), DecodeLimits::default()) {
            Ok(mut body) if body.unremoved_coding().is_none() => self.read(task, status, &headers, &mut body),
            _ => self.read(task, status, &headers, &mut io::empty()),
        })
    }
}

fn nothing(bytes: u64) -> StoredResponse {
    StoredResponse { bytes, ..StoredResponse::default() }
}

fn unreadable(error: io::Error) -> CrawlError {
    RepositoryError::Store(StoreError::Content(error)).into()
}

/// Crystal makes no resources of links with these schemes.
fn is_recorded(link: &str) -> bool {
    !["mailto:", "javascript:", "data:", "about:", "blob:"].iter().any(|scheme| link.starts_with(scheme))
}

/// Copies a body in pieces. A body that breaks off counts as complete up to that point.
fn copy(body: &mut dyn Read, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match body.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&buffer[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
