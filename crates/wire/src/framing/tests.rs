//! Every shape of response, whole and in pieces.

use proptest::prelude::*;

use super::*;

const TEST_LIMITS: HeadLimits = HeadLimits { bytes: 1000, lines: 20 };

#[derive(Debug, PartialEq, Eq)]
struct FramingResult {
    kept: Vec<u8>,
    ending: FramingEnd,
    interim: u32,
    reusable: bool,
    /// Whether the framer knew the end without the end of the connection.
    done: bool,
}

/// Feeds a response in pieces of `piece` bytes, then ends the connection.
fn run_in(bytes: &[u8], piece: usize, is_head_request: bool) -> FramingResult {
    let mut framing = ResponseFramer::new(is_head_request, TEST_LIMITS);
    let mut kept = Vec::new();
    for part in bytes.chunks(piece.max(1)) {
        if framing.is_done() {
            break;
        }
        framing.push(part, &mut |bytes| kept.extend_from_slice(bytes));
    }
    let done = framing.is_done();
    let reusable = framing.is_reusable();
    let ending = framing.end(true, &mut |bytes| kept.extend_from_slice(bytes));
    FramingResult { kept, ending, interim: framing.interim_responses(), reusable, done }
}

fn run(text: &str) -> FramingResult {
    run_in(text.as_bytes(), usize::MAX, false)
}

/// Asserts that the response is all of the text, how it ends, and whether the connection is
/// reusable.
fn expect(text: &str, ending: FramingEnd, done: bool, reusable: bool) {
    let seen = run(text);
    assert_eq!(String::from_utf8_lossy(&seen.kept), text);
    assert_eq!((seen.ending, seen.done, seen.reusable), (ending, done, reusable), "{text:?}");
}

const CUT_OFF: FramingEnd = FramingEnd::Truncated(TruncationReason::Disconnect);
const DOUBTFUL_END: FramingEnd = FramingEnd::Truncated(TruncationReason::Unspecified);

#[test]
fn bodies_of_known_length() {
    expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", FramingEnd::Complete, true, true);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", FramingEnd::Complete, true, true);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", FramingEnd::Complete, true, true);
    expect("HTTP/1.1 200 OK\ncontent-length :5\n\nhello", FramingEnd::Complete, true, true);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", CUT_OFF, false, false);
}

#[test]
fn wrong_and_unreadable_lengths() {
    expect(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello",
        DOUBTFUL_END,
        true,
        false,
    );
    expect("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", DOUBTFUL_END, false, false);
    expect("HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nhello", FramingEnd::Complete, false, false);
    expect(
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
        DOUBTFUL_END,
        false,
        false,
    );
}

#[test]
fn bytes_after_the_response_are_not_part_of_it() {
    let seen = run("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(seen.kept, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!((seen.ending, seen.reusable), (FramingEnd::Complete, false));
}

#[test]
fn responses_without_a_body() {
    for status in ["204 No Content", "304 Not Modified"] {
        expect(&format!("HTTP/1.1 {status}\r\nContent-Length: 99\r\n\r\n"), FramingEnd::Complete, true, true);
    }
    expect("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", FramingEnd::Complete, true, false);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n";
    let seen = run_in(head, 7, true);
    assert_eq!((seen.kept.as_slice(), seen.ending, seen.done), (&head[..], FramingEnd::Complete, true));
}

#[test]
fn bodies_that_end_with_the_connection() {
    expect("HTTP/1.1 200 OK\r\n\r\nhello", FramingEnd::Complete, false, false);
    expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", FramingEnd::Complete, false, false);
    let mut framing = ResponseFramer::new(false, TEST_LIMITS);
    framing.push(b"HTTP/1.1 200 OK\r\n\r\nhello", &mut |_| {});
    assert_eq!(framing.end(false, &mut |_| {}), DOUBTFUL_END);
}

#[test]
fn chunked_bodies() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n";
    for (body, ending, done) in [
        ("5\r\nhello\r\n0\r\n\r\n", FramingEnd::Complete, true),
        ("5;a=b\r\nhello\r\n00\r\nTrailer: x\r\nOther: y\r\n\r\n", FramingEnd::Complete, true),
        ("5\nhello\n0\n\n", FramingEnd::Complete, true),
        ("  A \r\n0123456789\r\n0\r\n\r\n", FramingEnd::Complete, true),
        ("5\r\nhello\r\n", CUT_OFF, false),
        ("5\r\nhel", CUT_OFF, false),
        ("5\r\nhello\r\n0\r\n", CUT_OFF, false),
        ("5\r\nhelloworld\r\n0\r\n\r\n", DOUBTFUL_END, false),
        ("hello, this was never chunked\r\n", DOUBTFUL_END, false),
        ("\r\n", DOUBTFUL_END, false),
        ("-5\r\nhello\r\n0\r\n\r\n", DOUBTFUL_END, false),
        ("10000000000000000\r\nhello", DOUBTFUL_END, false),
        ("fffffffffffffff\r\nhello", CUT_OFF, false),
    ] {
        expect(&format!("{head}{body}"), ending, done, done);
    }
    let long = format!("{head}5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(5000));
    expect(&long, DOUBTFUL_END, false, false);
    let trailers = format!("{head}0\r\n{}\r\n", "A: b\r\n".repeat(300));
    expect(&trailers, DOUBTFUL_END, false, false);
}

#[test]
fn a_length_beside_chunks_is_not_reusable() {
    let text =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding:\r\n chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    expect(text, FramingEnd::Complete, true, false);
}

#[test]
fn connections_stay_open_when_both_sides_agree() {
    let is_reusable = |version: &str, connection: &str| {
        run(&format!("HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{connection}\r\n")).reusable
    };
    assert!(is_reusable("1.1", ""));
    assert!(!is_reusable("1.1", "Connection: Close\r\n"));
    assert!(!is_reusable("1.1", "Connection: foo, close\r\n"));
    assert!(!is_reusable("1.0", ""));
    assert!(is_reusable("1.0", "Connection: keep-alive\r\n"));
}

#[test]
fn interim_responses_are_counted_and_dropped() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for piece in 1..80 {
        let seen = run_in(text.as_bytes(), piece, false);
        assert_eq!(seen.kept, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        assert_eq!((seen.ending, seen.interim, seen.reusable), (FramingEnd::Complete, 2, true));
    }
    let seen = run("HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!((seen.ending, seen.interim), (FramingEnd::Nothing, 1));
    let seen = run(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000));
    assert_eq!((seen.ending, seen.done), (FramingEnd::Nothing, true));
}

#[test]
fn bytes_that_are_not_http_are_kept() {
    for text in ["<html>old</html>", "SSH-2.0-x\r\n", "HTTX", "HTTP/1.1 abc\r\n\r\nbody", "\r\n\r\n"] {
        expect(text, DOUBTFUL_END, false, false);
    }
    expect("HTT", CUT_OFF, false, false);
    assert_eq!(run("").ending, FramingEnd::Nothing);
}

#[test]
fn too_many_headers_are_cut() {
    let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(5000));
    for piece in [1, 10, usize::MAX] {
        let seen = run_in(endless.as_bytes(), piece, false);
        assert_eq!(seen.kept, &endless.as_bytes()[..1000]);
        assert_eq!((seen.ending, seen.done), (FramingEnd::Truncated(TruncationReason::Length), true));
    }
    let many = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{}\r\n", "A: b\r\n".repeat(21));
    let seen = run(&format!("{many}ok"));
    assert_eq!(String::from_utf8_lossy(&seen.kept), many);
    assert_eq!((seen.ending, seen.reusable), (FramingEnd::Truncated(TruncationReason::Length), false));
}

proptest! {
    #[test]
    fn pieces_change_nothing(
        text in "(HTTP/1.1 10[03] x\r\n\r\n){0,2}(HTTP/1.[01] (200|304|abc) OK\r?\n((Content-Length: [0-9]{1,2}|Transfer-Encoding: chunked|Connection: close|A: b| x)\r?\n){0,3}\r?\n)?((3\r\nabc\r\n){0,3}(0\r\n(T: u\r\n)?\r\n)?|[a-z0-9\r\n]{0,20})",
        piece in 1usize..40,
        is_head_request: bool,
    ) {
        let whole = run_in(text.as_bytes(), usize::MAX, is_head_request);
        let mut pieces = run_in(text.as_bytes(), piece, is_head_request);
        // Bytes after the response are seen only when they arrive together with its end.
        if !whole.reusable {
            pieces.reusable = false;
        }
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn kept_bytes_were_received(bytes: Vec<u8>, piece in 1usize..9) {
        let seen = run_in(&bytes, piece, false);
        prop_assert!(bytes.windows(seen.kept.len().max(1)).any(|window| window == seen.kept) || seen.kept.is_empty());
    }
}
