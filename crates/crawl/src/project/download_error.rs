//! The names of failures in a project: those of the Python exceptions that Crystal would have
//! raised.
//!
//! Only failures of a server or the network are recorded. A URL that was not requested, because of
//! a rule or a problem of this machine, has no failure of its own.

use varve_crystal::{DownloadError, ResponseMetadata};
use varve_wire::TruncationReason;

/// The recorded failure for a word of `FetchErrorKind`; `None` if that kind is not recorded.
pub(super) fn download_error(kind: &str, url: &str, message: &str) -> Option<DownloadError> {
    Some(match kind {
        "dns" => DownloadError::no_such_host(),
        "refused" => DownloadError::connection_refused(),
        "timeout" => DownloadError::timed_out(),
        "protocol" => DownloadError::disconnected(),
        tls if tls.split(':').next() == Some("tls") => DownloadError::new("SSLError", message),
        "connect" => DownloadError::new("ConnectionError", message),
        "proxy" => DownloadError::new("ProxyError", message),
        "url" => DownloadError::unknown_scheme(url.split(':').next().unwrap_or_default()),
        _ => return None,
    })
}

/// The failure for a response that was truncated after `length` body bytes; `None` if it is stored
/// as it is. Crystal takes the end of the connection for the end of the body if the response has no
/// other end, or if `Content-Length` promised more.
pub(super) fn cut_short(
    why: TruncationReason,
    metadata: &ResponseMetadata,
    length: u64,
) -> Option<DownloadError> {
    let says_so = metadata.promised_length().is_some_and(|promised| promised > length);
    match why {
        TruncationReason::Time => Some(DownloadError::timed_out()),
        TruncationReason::Unspecified => None,
        TruncationReason::Disconnect | TruncationReason::Length if says_so => None,
        TruncationReason::Disconnect | TruncationReason::Length => Some(DownloadError::incomplete(length)),
    }
}

/// The failure of a response that does not start as HTTP: its first line, with its line ending.
pub(super) fn no_http(start: &[u8]) -> DownloadError {
    const MAX_LINE_BYTES: usize = 1000;
    let end = start.iter().position(|byte| *byte == b'\n').map_or(start.len(), |at| at + 1);
    if end == 0 {
        return DownloadError::disconnected();
    }
    let line: String = start[..end.min(MAX_LINE_BYTES)].iter().copied().map(char::from).collect();
    DownloadError::bad_status_line(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_names_that_people_clean_up_by() {
        let name = |kind| download_error(kind, "gopher://h/", "why").map(|error| error.kind);
        assert_eq!(name("dns").as_deref(), Some("gaierror"));
        assert_eq!(name("refused").as_deref(), Some("ConnectionRefusedError"));
        assert_eq!(name("timeout").as_deref(), Some("TimeoutError"));
        assert_eq!(name("protocol").as_deref(), Some("RemoteDisconnected"));
        assert_eq!(name("url").as_deref(), Some("URLError"));
        for kind in ["guard", "robots", "spool", "host", "request", "content", "browser"] {
            assert_eq!(name(kind), None, "{kind}");
        }
    }

    #[test]
    fn an_answer_that_was_cut_short_is_kept_only_where_its_row_says_so() {
        let said = |name: &str, value: &str| ResponseMetadata {
            http_version: 11,
            status_code: 200,
            reason_phrase: String::new(),
            headers: vec![(name.to_owned(), value.to_owned())],
        };
        let (length, chunks) = (said("content-length", "9"), said("Transfer-Encoding", "chunked"));
        for why in [TruncationReason::Disconnect, TruncationReason::Length] {
            assert_eq!(cut_short(why, &length, 5), None);
            assert_eq!(cut_short(why, &chunks, 5), Some(DownloadError::incomplete(5)));
        }
        assert_eq!(cut_short(TruncationReason::Time, &length, 5), Some(DownloadError::timed_out()));
        assert_eq!(cut_short(TruncationReason::Unspecified, &chunks, 5), None);
        assert_eq!(DownloadError::incomplete(5).message, "IncompleteRead(5 bytes read)");
    }

    #[test]
    fn what_is_no_http_is_told_by_its_first_line() {
        assert_eq!(no_http(b"GARBAGE\r\nmore"), DownloadError::bad_status_line("GARBAGE\r\n"));
        assert_eq!(no_http(b""), DownloadError::disconnected());
        assert_eq!(no_http(&[0xff; 5000]).message.chars().count(), 1000);
    }
}
