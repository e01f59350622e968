//! Reconstructs the response of a revision as far as possible.
//!
//! A row has the head; the body was stored with its transfer coding decoded. Header fields that
//! would make a reader decode it again, or that give a wrong length, are therefore renamed, as is
//! usual in archives.

use std::fs::File;
use std::io::{self, Read, Write};
use varve_repository::RepositoryError;

use varve_crystal::{ResponseMetadata, Revision, RevisionBody};
use varve_store::exchange::{ExchangeRun, KeptExchange, NewExchange, RevisitOriginal};
use varve_warc::date::{Date, Precision};
use varve_wire::ReadAt;

use super::ProjectImport;
use crate::error::ArchiveError;
use varve_repository::history::time_of_revision;

/// Maximum size of a response held in memory, in bytes.
const MAX_BYTES_IN_MEMORY: u64 = 1 << 20;
/// The truncation reason written to records whose body is shorter than its response declared.
pub(in crate::verbs::crystal) const CUT_SHORT: &str = "disconnect";
/// The prefix for the name of a field that does not apply to the stored body.
const ORIGINAL_HEADER_PREFIX: &[u8] = b"X-Archive-Orig-";

impl ProjectImport<'_> {
    /// Stores the response of a revision whose body has this length.
    pub(super) fn answer(&mut self, revision: &Revision, length: u64) -> Result<KeptExchange, ArchiveError> {
        let unchanged = self.original(revision)?;
        self.keep(revision, length, unchanged)
    }

    /// The response that a 304 refers to: that of the revision it stands for.
    fn original(&mut self, revision: &Revision) -> Result<Option<RevisitOriginal>, ArchiveError> {
        let meant = self.project.resolve(revision.clone())?.revision;
        if meant.id == revision.id {
            return Ok(None);
        }
        let Some(length) = self.project.body_length(meant.id)? else { return Ok(None) };
        // Storing it again returns its receipt.
        let receipt = self.keep(&meant, length, None)?.receipt;
        if receipt.revisit_of.is_some() {
            return Ok(None);
        }
        let date = self.date(&meant)?.to_string();
        Ok(Some(RevisitOriginal {
            record: receipt.record,
            url: receipt.url,
            date,
            payload: None,
            body: receipt.body,
            length: receipt.length,
        }))
    }

    fn keep(
        &mut self,
        revision: &Revision,
        length: u64,
        unchanged: Option<RevisitOriginal>,
    ) -> Result<KeptExchange, ArchiveError> {
        let url = self.url_of(revision)?;
        let response = self.response(revision, length)?;
        let truncated = self.project.is_cut_short(revision)?.then_some(CUT_SHORT);
        let exchange = NewExchange {
            url: &url,
            date: self.date(revision)?,
            request: b"",
            response: &*response,
            head: None,
            ip: None,
            protocols: &[],
            cipher: None,
            trailers: &[],
            timing: None,
            truncated,
            run: Some(ExchangeRun::Capture(self.run)),
            warcinfo: None,
            unchanged,
            non_capture_method: None,
            source: None,
        };
        Ok(self.keeper.keep(&mut self.packer, &exchange)?)
    }

    fn date(&self, revision: &Revision) -> Result<Date, ArchiveError> {
        let instant = time_of_revision(self.project, revision)?.utc();
        Ok(Date { instant, precision: Precision::Second, well_formed: true })
    }

    /// The URL. A revision whose resource is lost gets a URN that distinguishes it from others.
    fn url_of(&self, revision: &Revision) -> Result<String, ArchiveError> {
        let resource = self.project.resource(revision.resource)?;
        Ok(resource.map_or_else(|| format!("urn:crystal:resource:{}", revision.resource), |one| one.url))
    }

    /// Head and body, in memory or, if they are long, in a file.
    fn response(&self, revision: &Revision, length: u64) -> Result<Box<dyn ReadAt>, ArchiveError> {
        let metadata = revision.metadata().ok().flatten();
        let head = metadata.map_or_else(|| b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), |said| head(&said, length));
        let Some(body) = self.project.body(revision.id)? else { return Ok(Box::new(head)) };
        let path = body.path().to_owned();
        let read =
            if length <= MAX_BYTES_IN_MEMORY { in_memory(head, body) } else { self.in_file(&head, body) };
        Ok(read.map_err(|source| RepositoryError::Read { path, source })?)
    }

    fn in_file(&self, head: &[u8], mut body: RevisionBody) -> io::Result<Box<dyn ReadAt>> {
        let mut file: File = self.history.writer().layout().temporary_folder().unnamed_file()?;
        file.write_all(head)?;
        io::copy(&mut body, &mut file)?;
        Ok(Box::new(file))
    }
}

fn in_memory(mut head: Vec<u8>, mut body: RevisionBody) -> io::Result<Box<dyn ReadAt>> {
    body.read_to_end(&mut head)?;
    Ok(Box::new(head))
}

/// The head of the response, for a body of this length.
pub(in crate::verbs::crystal) fn head(metadata: &ResponseMetadata, length: u64) -> Vec<u8> {
    let version = if metadata.http_version == 10 { "1.0" } else { "1.1" };
    let reason: String = metadata.reason_phrase.chars().filter(|letter| !letter.is_control()).collect();
    let mut head = format!("HTTP/{version} {} {reason}\r\n", metadata.status_code).into_bytes();
    for (name, value) in metadata.wire_headers().iter() {
        let is_name = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic());
        if !is_name || name.contains(&b':') {
            // Such a line cannot be written; the fact holds its text.
            continue;
        }
        let lies = name.eq_ignore_ascii_case(b"Transfer-Encoding")
            || name.eq_ignore_ascii_case(b"Content-Length")
                && value.trim_ascii() != length.to_string().as_bytes();
        head.extend_from_slice(if lies { ORIGINAL_HEADER_PREFIX } else { b"" });
        head.extend_from_slice(name);
        head.extend_from_slice(b": ");
        head.extend(on_one_line(value));
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// A value without line ends: folded values are unfolded, and no value can end the head.
fn on_one_line(value: &[u8]) -> impl Iterator<Item = u8> + '_ {
    value.iter().map(|byte| if matches!(byte, b'\r' | b'\n' | 0) { b' ' } else { *byte })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_contradict_the_body_are_renamed() {
        let said = [
            ("Content-Type", "text/html"),
            ("transfer-encoding", "chunked"),
            ("Content-Length", "7"),
            ("X-Fold", "a\r\n b"),
            ("Bad name", "x"),
            ("Bad:name", "x"),
        ];
        let metadata = ResponseMetadata {
            http_version: 10,
            status_code: 200,
            reason_phrase: "OK\r\nX: y".to_owned(),
            headers: said.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        };
        let text = String::from_utf8(head(&metadata, 8)).unwrap();
        assert_eq!(
            text,
            "HTTP/1.0 200 OKX: y\r\nContent-Type: text/html\r\nX-Archive-Orig-transfer-encoding: chunked\r\n\
             X-Archive-Orig-Content-Length: 7\r\nX-Fold: a   b\r\n\r\n"
        );
        assert!(String::from_utf8(head(&metadata, 7)).unwrap().contains("\r\nContent-Length: 7\r\n"));
    }
}
