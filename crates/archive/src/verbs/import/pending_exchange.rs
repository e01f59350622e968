//! Pairs responses with their requests.
//!
//! Programs write a request right before or right after its response. The pair is stored together,
//! and the method of the request decides whether the response is a capture of its URL. So one
//! response and one request at most wait for their other half.

use varve_warc::record::RecordHeader;

use super::record_block::RecordBlock;

/// A record that was read, with what its file says about it.
pub(super) struct ReadRecord {
    /// Its header in the file.
    pub(super) header: RecordHeader,
    /// The header as it is stored.
    pub(super) source_header: String,
    /// Its block.
    pub(super) block: RecordBlock,
    /// Where it begins.
    pub(super) offset: u64,
    /// Whether the block is shorter than declared.
    pub(super) is_cut: bool,
}

/// A response or revisit with its request.
pub(super) struct ReadExchange {
    pub(super) response: ReadRecord,
    pub(super) request: Option<ReadRecord>,
}

/// What can be stored.
pub(super) enum Ready {
    Exchange(Box<ReadExchange>),
    /// A request without a response.
    Request(Box<ReadRecord>),
}

/// The records that wait for their other half.
#[derive(Default)]
pub(super) struct PendingExchange {
    response: Option<ReadRecord>,
    request: Option<ReadRecord>,
}

impl PendingExchange {
    /// Takes a response. Returns what is ready then.
    pub(super) fn push_response(&mut self, response: ReadRecord) -> Vec<Ready> {
        let mut ready: Vec<Ready> = self.take_response().into_iter().collect();
        match self.request.take() {
            Some(request) if is_pair(&response.header, &request.header) => {
                ready.push(Ready::Exchange(Box::new(ReadExchange { response, request: Some(request) })));
            }
            request => {
                ready.extend(request.map(|request| Ready::Request(Box::new(request))));
                self.response = Some(response);
            }
        }
        ready
    }

    /// Takes a request. Returns what is ready then.
    pub(super) fn push_request(&mut self, request: ReadRecord) -> Vec<Ready> {
        let is_pair =
            self.response.as_ref().is_some_and(|response| is_pair(&response.header, &request.header));
        match self.response.take_if(|_| is_pair) {
            Some(response) => {
                vec![Ready::Exchange(Box::new(ReadExchange { response, request: Some(request) }))]
            }
            None => {
                let ready = self.take();
                self.request = Some(request);
                ready
            }
        }
    }

    /// Everything that waits.
    pub(super) fn take(&mut self) -> Vec<Ready> {
        let request = self.request.take().map(|request| Ready::Request(Box::new(request)));
        self.take_response().into_iter().chain(request).collect()
    }

    fn take_response(&mut self) -> Option<Ready> {
        let response = self.response.take()?;
        Some(Ready::Exchange(Box::new(ReadExchange { response, request: None })))
    }
}

/// Whether a request belongs to a response: one of them names the other, or both are of one URL and
/// one instant.
fn is_pair(response: &RecordHeader, request: &RecordHeader) -> bool {
    let names = |one: &RecordHeader, other: &RecordHeader| {
        let bare = |id: &[u8]| id.trim_ascii().to_vec();
        other.record_id().is_some_and(|id| {
            one.fields.get_all("WARC-Concurrent-To").any(|value| {
                let value =
                    value.strip_prefix(b"<").and_then(|value| value.strip_suffix(b">")).unwrap_or(value);
                bare(value) == bare(id)
            })
        })
    };
    let is_same =
        |name| response.fields.get(name).is_some() && response.fields.get(name) == request.fields.get(name);
    names(request, response) || names(response, request) || is_same("WARC-Target-URI") && is_same("WARC-Date")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str, concurrent: &str, url: &str) -> ReadRecord {
        let mut header = RecordHeader::default();
        header.fields.push("WARC-Record-ID", format!("<urn:uuid:{id}>"));
        header.fields.push("WARC-Target-URI", url);
        header.fields.push("WARC-Date", format!("2020-01-01T00:00:0{}Z", id.len()));
        if !concurrent.is_empty() {
            header.fields.push("WARC-Concurrent-To", format!("<urn:uuid:{concurrent}>"));
        }
        ReadRecord {
            header,
            source_header: String::new(),
            block: RecordBlock::Memory(Vec::new()),
            offset: 0,
            is_cut: false,
        }
    }

    fn names(ready: &[Ready]) -> Vec<String> {
        let id = |record: &ReadRecord| {
            String::from_utf8_lossy(record.header.record_id().unwrap()).replace("urn:uuid:", "")
        };
        let name = |ready: &Ready| match ready {
            Ready::Exchange(exchange) => {
                format!("{}+{}", id(&exchange.response), exchange.request.as_ref().map_or(String::new(), id))
            }
            Ready::Request(request) => id(request),
        };
        ready.iter().map(name).collect()
    }

    #[test]
    fn requests_before_and_after_their_response_are_found() {
        let mut pending = PendingExchange::default();
        assert!(pending.push_response(record("a", "", "http://e/")).is_empty());
        assert_eq!(names(&pending.push_request(record("bb", "a", "http://e/"))), ["a+bb"]);
        assert!(pending.push_request(record("ccc", "", "http://e/")).is_empty());
        assert_eq!(names(&pending.push_response(record("dddd", "ccc", "http://e/"))), ["dddd+ccc"]);
        assert!(pending.push_response(record("e", "", "http://same/")).is_empty());
        assert_eq!(names(&pending.push_request(record("f", "", "http://same/"))), ["e+f"]);
    }

    #[test]
    fn halves_without_the_other_are_kept() {
        let mut pending = PendingExchange::default();
        assert!(pending.push_request(record("a", "", "http://e/")).is_empty());
        assert_eq!(names(&pending.push_request(record("bb", "", "http://e/"))), ["a"]);
        assert_eq!(names(&pending.push_response(record("ccc", "", "http://f/"))), ["bb"]);
        assert_eq!(names(&pending.push_response(record("d", "", "http://g/"))), ["ccc+"]);
        assert_eq!(names(&pending.take()), ["d+"]);
        assert!(pending.take().is_empty());
    }
}
