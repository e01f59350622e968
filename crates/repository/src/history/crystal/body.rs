//! Bodies of a project with their content codings decoded, as the rest of varve expects them.
//!
//! Crystal stores bodies with only the transfer coding decoded. A body that is declared as gzip and
//! is not stays as it is. The id of a body is the digest of its bytes. No row of a project has it,
//! so the body is read to compute the id. Results are cached, because comparing two versions asks
//! for the same body twice.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};

use sha2::{Digest, Sha256};
use varve_core::BodyId;
use varve_core::body::BodyError;
use varve_crystal::{BodyLookup, ResponseMetadata, Result, Revision, RevisionBody, RevisionId};
use varve_wire::{DecodeLimits, DecodedBody, Headers, open_body};

use super::CrystalReaderState;
use crate::error::RepositoryError;

/// The SHA-256 of the empty input.
pub(super) const EMPTY_BODY_ID: [u8; 32] = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27,
    0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];
/// Maximum number of cached bodies: those of a few pages of a list.
const MAX_KNOWN_BODIES: usize = 4096;

/// The properties of a body, determined by reading it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyFacts {
    pub(super) id: BodyId,
    pub(super) length: u64,
    /// Whether its content codings can be decoded.
    decodes: bool,
}

/// A cache of recently read bodies, by revision. Crystal reuses the ids of deleted revisions, but
/// not while one command has the project open.
#[derive(Default)]
pub(super) struct KnownBodies(HashMap<RevisionId, BodyFacts>);

impl KnownBodies {
    fn remember(&mut self, revision: RevisionId, facts: BodyFacts) {
        if self.0.len() >= MAX_KNOWN_BODIES {
            self.0.clear();
        }
        self.0.insert(revision, facts);
    }
}

impl CrystalReaderState {
    /// The properties of the body of a revision. `None` if the revision never had a body or lost
    /// it.
    pub(super) fn examine(&mut self, revision: Revision) -> Result<Option<BodyFacts>> {
        let meant = self.project.resolve(revision)?.revision;
        if let Some(facts) = self.known.0.get(&meant.id) {
            return Ok(Some(*facts));
        }
        let codings = content_codings(&meant);
        let BodyLookup::Found(body) = self.project.body_of(&meant)? else { return Ok(None) };
        let decoded = codings.as_ref().and_then(|head| digest(decoded(head, body).ok()?).ok());
        let facts = match decoded {
            Some((id, length)) => BodyFacts { id, length, decodes: true },
            None => {
                let BodyLookup::Found(body) = self.project.body_of(&meant)? else { return Ok(None) };
                let path = body.path().to_owned();
                let failed = |source| varve_crystal::Error::Io { doing: "read", path, source };
                let (id, length) = digest(body).map_err(failed)?;
                BodyFacts { id, length, decodes: false }
            }
        };
        self.known.remember(meant.id, facts);
        Ok(Some(facts))
    }

    /// Opens the body of a revision.
    pub(super) fn open_body(
        &mut self,
        url: &str,
        revision: Revision,
    ) -> std::result::Result<Box<dyn Read + Send>, RepositoryError> {
        let facts = self.examine(revision.clone())?;
        let meant = self.project.resolve(revision)?.revision;
        let body = match self.project.body_of(&meant)? {
            BodyLookup::Found(body) => body,
            BodyLookup::NeverHad => return Err(failure(url, &meant)),
            BodyLookup::Missing { expected } => {
                return Err(RepositoryError::BodyLost { url: url.to_owned(), expected });
            }
        };
        let codings = content_codings(&meant).filter(|_| facts.is_some_and(|facts| facts.decodes));
        match codings {
            Some(codings) => Ok(Box::new(decoded(&codings, body).map_err(BodyError::new)?)),
            None => Ok(Box::new(body)),
        }
    }
}

/// The error for a revision without a body.
fn failure(url: &str, revision: &Revision) -> RepositoryError {
    let said = revision.download_error().ok().flatten();
    let (kind, message) = said.map_or_else(
        || ("error".to_owned(), "what is recorded cannot be read".to_owned()),
        |error| (error.kind, error.message),
    );
    RepositoryError::DownloadFailed { url: url.to_owned(), kind, message }
}

/// Whether the stored body differs from the decoded one.
pub(super) fn has_content_codings(metadata: &ResponseMetadata) -> bool {
    named_codings(metadata).is_some()
}

/// The headers of a revision that name content codings, if there are any codings.
fn content_codings(revision: &Revision) -> Option<Headers> {
    named_codings(&revision.metadata().ok().flatten()?)
}

fn named_codings(metadata: &ResponseMetadata) -> Option<Headers> {
    metadata.header("Content-Encoding")?;
    let headers = metadata.wire_headers();
    let is_coding = |(name, _): &(&[u8], &[u8])| name.eq_ignore_ascii_case(b"content-encoding");
    let codings: Headers = headers.iter().filter(is_coding).collect();
    (!codings.content_codings().is_empty()).then_some(codings)
}

/// The body with its content codings decoded. An error if a coding is unknown or evidently absent.
fn decoded(codings: &Headers, body: RevisionBody) -> io::Result<DecodedBody<'static>> {
    let opened = open_body(codings, BufReader::new(body), DecodeLimits::default())?;
    match opened.unremoved_coding() {
        Some(coding) => Err(io::Error::other(format!("content coding {coding} is left alone"))),
        None => Ok(opened),
    }
}

fn digest(mut body: impl Read) -> io::Result<(BodyId, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        match body.read(&mut buffer) {
            Ok(0) => return Ok((BodyId::new(hasher.finalize().into()), length)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The response head for the stored body, from which Crystal has removed the transfer coding. The
/// length replaces the transfer coding; all other headers are those of the row.
pub(super) fn stored_head(metadata: &ResponseMetadata, length: u64) -> Vec<u8> {
    let mut stored = metadata.clone();
    let is_named = |header: &(String, String), name: &str| header.0.eq_ignore_ascii_case(name);
    if stored.headers.iter().any(|header| is_named(header, "Transfer-Encoding")) {
        stored.headers.retain(|header| {
            !["Transfer-Encoding", "Content-Length", "Trailer"].iter().any(|name| is_named(header, name))
        });
        stored.headers.push(("Content-Length".to_owned(), length.to_string()));
    }
    wire_head(&stored)
}

/// The response head as received on the wire, as far as the row holds it.
pub(super) fn wire_head(metadata: &ResponseMetadata) -> Vec<u8> {
    let version = if metadata.http_version == 10 { "1.0" } else { "1.1" };
    let mut head = format!("HTTP/{version} {} {}", metadata.status_code, metadata.reason_phrase).into_bytes();
    head.truncate(head.trim_ascii_end().len());
    head.extend_from_slice(b"\r\n");
    for (name, value) in metadata.wire_headers().iter() {
        head.extend_from_slice(name);
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}
