//! Every shape of answer, whole and in pieces.

use proptest::prelude::*;

use super::*;

const LIMITS: HeadLimits = HeadLimits { bytes: 1000, lines: 20 };

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    kept: Vec<u8>,
    ending: Ending,
    interim: u32,
    reusable: bool,
    /// Whether the machine knew the end by itself.
    done: bool,
}

/// Feeds an answer in pieces of so many bytes, then ends the connection.
fn run_in(bytes: &[u8], piece: usize, head_only: bool) -> Seen {
    let mut framing = Framing::new(head_only, LIMITS);
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
    Seen { kept, ending, interim: framing.interim(), reusable, done }
}

fn run(text: &str) -> Seen {
    run_in(text.as_bytes(), usize::MAX, false)
}

/// The answer is all of the text, and ends in that way, by itself and reusable or not.
fn expect(text: &str, ending: Ending, done: bool, reusable: bool) {
    let seen = run(text);
    assert_eq!(String::from_utf8_lossy(&seen.kept), text);
    assert_eq!((seen.ending, seen.done, seen.reusable), (ending, done, reusable), "{text:?}");
}

const CUT: Ending = Ending::Cut(Truncated::Disconnect);
const DOUBTFUL: Ending = Ending::Cut(Truncated::Unspecified);

#[test]
fn bodies_of_known_length() {
    expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Ending::Whole, true, true);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Ending::Whole, true, true);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", Ending::Whole, true, true);
    expect("HTTP/1.1 200 OK\ncontent-length :5\n\nhello", Ending::Whole, true, true);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", CUT, false, false);
}

#[test]
fn lengths_that_lie_or_cannot_be_read() {
    expect("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello", DOUBTFUL, true, false);
    expect("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", DOUBTFUL, false, false);
    expect("HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nhello", Ending::Whole, false, false);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello", DOUBTFUL, false, false);
}

#[test]
fn what_is_behind_the_answer_is_not_part_of_it() {
    let seen = run("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(seen.kept, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!((seen.ending, seen.reusable), (Ending::Whole, false));
}

#[test]
fn answers_without_a_body() {
    for status in ["204 No Content", "304 Not Modified"] {
        expect(&format!("HTTP/1.1 {status}\r\nContent-Length: 99\r\n\r\n"), Ending::Whole, true, true);
    }
    expect("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", Ending::Whole, true, false);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n";
    let seen = run_in(head, 7, true);
    assert_eq!((seen.kept.as_slice(), seen.ending, seen.done), (&head[..], Ending::Whole, true));
}

#[test]
fn bodies_that_end_with_the_connection() {
    expect("HTTP/1.1 200 OK\r\n\r\nhello", Ending::Whole, false, false);
    expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", Ending::Whole, false, false);
    let mut framing = Framing::new(false, LIMITS);
    framing.push(b"HTTP/1.1 200 OK\r\n\r\nhello", &mut |_| {});
    assert_eq!(framing.end(false, &mut |_| {}), DOUBTFUL);
}

#[test]
fn chunked_bodies() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n";
    for (body, ending, done) in [
        ("5\r\nhello\r\n0\r\n\r\n", Ending::Whole, true),
        ("5;a=b\r\nhello\r\n00\r\nTrailer: x\r\nOther: y\r\n\r\n", Ending::Whole, true),
        ("5\nhello\n0\n\n", Ending::Whole, true),
        ("  A \r\n0123456789\r\n0\r\n\r\n", Ending::Whole, true),
        ("5\r\nhello\r\n", CUT, false),
        ("5\r\nhel", CUT, false),
        ("5\r\nhello\r\n0\r\n", CUT, false),
        ("5\r\nhelloworld\r\n0\r\n\r\n", DOUBTFUL, false),
        ("hello, this was never chunked\r\n", DOUBTFUL, false),
        ("\r\n", DOUBTFUL, false),
        ("-5\r\nhello\r\n0\r\n\r\n", DOUBTFUL, false),
        ("10000000000000000\r\nhello", DOUBTFUL, false),
        ("fffffffffffffff\r\nhello", CUT, false),
    ] {
        expect(&format!("{head}{body}"), ending, done, done);
    }
    let long = format!("{head}5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(5000));
    expect(&long, DOUBTFUL, false, false);
    let trailers = format!("{head}0\r\n{}\r\n", "A: b\r\n".repeat(300));
    expect(&trailers, DOUBTFUL, false, false);
}

#[test]
fn a_length_beside_chunks_ends_the_connection() {
    let text =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding:\r\n chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    expect(text, Ending::Whole, true, false);
}

#[test]
fn connections_stay_open_when_both_sides_say_so() {
    let answer = |version: &str, connection: &str| {
        run(&format!("HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{connection}\r\n")).reusable
    };
    assert!(answer("1.1", ""));
    assert!(!answer("1.1", "Connection: Close\r\n"));
    assert!(!answer("1.1", "Connection: foo, close\r\n"));
    assert!(!answer("1.0", ""));
    assert!(answer("1.0", "Connection: keep-alive\r\n"));
}

#[test]
fn interim_answers_are_counted_and_left_out() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for piece in 1..80 {
        let seen = run_in(text.as_bytes(), piece, false);
        assert_eq!(seen.kept, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        assert_eq!((seen.ending, seen.interim, seen.reusable), (Ending::Whole, 2, true));
    }
    let seen = run("HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!((seen.ending, seen.interim), (Ending::Nothing, 1));
    let seen = run(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000));
    assert_eq!((seen.ending, seen.done), (Ending::Nothing, true));
}

#[test]
fn what_is_not_http_is_kept() {
    for text in ["<html>old</html>", "SSH-2.0-x\r\n", "HTTX", "HTTP/1.1 abc\r\n\r\nbody", "\r\n\r\n"] {
        expect(text, DOUBTFUL, false, false);
    }
    expect("HTT", CUT, false, false);
    assert_eq!(run("").ending, Ending::Nothing);
}

#[test]
fn floods_of_headers_are_cut() {
    let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(5000));
    for piece in [1, 10, usize::MAX] {
        let seen = run_in(endless.as_bytes(), piece, false);
        assert_eq!(seen.kept, &endless.as_bytes()[..1000]);
        assert_eq!((seen.ending, seen.done), (Ending::Cut(Truncated::Length), true));
    }
    let many = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{}\r\n", "A: b\r\n".repeat(21));
    let seen = run(&format!("{many}ok"));
    assert_eq!(String::from_utf8_lossy(&seen.kept), many);
    assert_eq!((seen.ending, seen.reusable), (Ending::Cut(Truncated::Length), false));
}

proptest! {
    #[test]
    fn pieces_change_nothing(
        text in "(HTTP/1.1 10[03] x\r\n\r\n){0,2}(HTTP/1.[01] (200|304|abc) OK\r?\n((Content-Length: [0-9]{1,2}|Transfer-Encoding: chunked|Connection: close|A: b| x)\r?\n){0,3}\r?\n)?((3\r\nabc\r\n){0,3}(0\r\n(T: u\r\n)?\r\n)?|[a-z0-9\r\n]{0,20})",
        piece in 1usize..40,
        head_only: bool,
    ) {
        let whole = run_in(text.as_bytes(), usize::MAX, head_only);
        let mut pieces = run_in(text.as_bytes(), piece, head_only);
        // What lies behind the answer is only seen when it comes along with its end.
        if !whole.reusable {
            pieces.reusable = false;
        }
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn what_is_kept_was_received(bytes: Vec<u8>, piece in 1usize..9) {
        let seen = run_in(&bytes, piece, false);
        prop_assert!(bytes.windows(seen.kept.len().max(1)).any(|window| window == seen.kept) || seen.kept.is_empty());
    }
}
