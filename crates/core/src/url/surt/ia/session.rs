//! Session ids that archives forget: the ones that old server software put into every link.
//!
//! The rules are those of the regular expressions that archives have used for years, quirks
//! included. They are written as plain searches, so that the time is linear for long and repetitive
//! URLs.

/// Session parameters whose id has 32 letters and digits.
const LONG_SESSIONS: [&[u8]; 3] = [b"jsessionid=", b"phpsessid=", b"sid="];

/// Removes the session parameters from a query, the last of each kind. The text before the match
/// stays, including the `&` and even the beginning of the parameter's own name.
pub(super) fn strip_query_session(query: &mut Vec<u8>) {
    for name in LONG_SESSIONS {
        cut_last(query, |rest| long_session(rest, name));
    }
    cut_last(query, asp_session);
    strip_cold_fusion_session(query);
}

/// That name and 32 letters and digits.
fn long_session(rest: &[u8], name: &[u8]) -> Option<usize> {
    let id = after(rest, name)?.get(..32)?;
    id.iter().all(u8::is_ascii_alphanumeric).then_some(name.len() + 32)
}

/// `ASPSESSIONID` with eight letters, and 24 letters.
fn asp_session(rest: &[u8]) -> Option<usize> {
    let name = b"aspsessionid";
    let rest = after(rest, name)?.get(..33)?;
    let (suffix, id) = (&rest[..8], rest[8..].strip_prefix(b"=")?);
    suffix.iter().chain(id).all(u8::is_ascii_alphabetic).then_some(name.len() + 33)
}

/// Cuts out the last thing that `measure` knows and that ends with the query or at an `&`, which
/// goes with it.
fn cut_last(query: &mut Vec<u8>, measure: impl Fn(&[u8]) -> Option<usize>) {
    let place = (0..query.len()).rev().find_map(|start| {
        let end = start + measure(&query[start..])?;
        matches!(query.get(end), None | Some(b'&')).then_some((start, end))
    });
    if let Some((start, end)) = place {
        query.drain(start..(end + 1).min(query.len()));
    }
}

/// Removes `CFID` and right after it `CFTOKEN`, each with some value.
fn strip_cold_fusion_session(query: &mut Vec<u8>) {
    let mut end = query.len();
    let place = memchr::memrchr_iter(b'&', query).find_map(|ampersand| {
        let token_end = std::mem::replace(&mut end, ampersand);
        let token = after(&query[ampersand + 1..token_end], b"cftoken=")?;
        let from = memchr::memrchr(b'&', &query[..ampersand]).map_or(0, |before| before + 1);
        let id = last_cold_fusion_id(&query[from..ampersand])?;
        (!token.is_empty()).then_some((from + id, token_end))
    });
    if let Some((start, end)) = place {
        query.drain(start..(end + 1).min(query.len()));
    }
}

/// Where the last `cfid=` with something behind it begins.
fn last_cold_fusion_id(parameter: &[u8]) -> Option<usize> {
    let has_id = |start: &usize| after(&parameter[*start..], b"cfid=").is_some_and(|id| !id.is_empty());
    (0..parameter.len()).rev().find(has_id)
}

/// Removes a session segment of ASP.NET from a path: `/(id)/page.aspx` or `/(S(id))/page.aspx`.
pub(super) fn strip_path_session(path: &mut Vec<u8>) {
    for measure in [named_sessions, bare_session] {
        let pages: Vec<_> = (0..path.len()).filter(|&at| after(&path[at..], b".aspx").is_some()).collect();
        if pages.is_empty() {
            return;
        }
        if let Some((start, length)) = last_path_session(path, &pages, measure) {
            path.drain(start..start + length);
        }
    }
}

/// The last segment that `measure` knows and behind which, before any question mark, one of the
/// `pages` ends.
fn last_path_session(
    path: &[u8],
    pages: &[usize],
    measure: fn(&[u8]) -> Option<usize>,
) -> Option<(usize, usize)> {
    let questions: Vec<_> = memchr::memchr_iter(b'?', path).collect();
    memchr::memrchr_iter(b'/', path).find_map(|slash| {
        let start = slash + 1;
        let length = measure(&path[start..])?;
        let name = start + length;
        let page = *pages.get(pages.partition_point(|page| *page <= name))?;
        let question = questions.get(questions.partition_point(|question| *question < name));
        question.is_none_or(|question| page < *question).then_some((start, length))
    })
}

/// `(S(id)F(id))/`: in parentheses, ids in parentheses, each behind a letter.
fn named_sessions(segment: &[u8]) -> Option<usize> {
    let mut rest = segment.strip_prefix(b"(")?;
    let mut ids = 0;
    while let Some(after_id) = named_id(rest) {
        rest = after_id;
        ids += 1;
    }
    let rest = rest.strip_prefix(b")/")?;
    (ids > 0).then_some(segment.len() - rest.len())
}

fn named_id(rest: &[u8]) -> Option<&[u8]> {
    let (letter, rest) = rest.split_first()?;
    id_in_parentheses(rest).filter(|_| letter.is_ascii_alphabetic())
}

/// `(id)/`.
fn bare_session(segment: &[u8]) -> Option<usize> {
    let rest = id_in_parentheses(segment)?.strip_prefix(b"/")?;
    Some(segment.len() - rest.len())
}

/// The text after 24 letters and digits in parentheses.
fn id_in_parentheses(rest: &[u8]) -> Option<&[u8]> {
    let (id, rest) = rest.strip_prefix(b"(")?.split_at_checked(24)?;
    rest.strip_prefix(b")").filter(|_| id.iter().all(u8::is_ascii_alphanumeric))
}

/// The rest of a text after a prefix, compared without regard to case.
fn after<'a>(bytes: &'a [u8], beginning: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = bytes.split_at_checked(beginning.len())?;
    start.eq_ignore_ascii_case(beginning).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdefghijklemopqrstuv";

    fn query(text: &str) -> String {
        let mut query = text.replace("<id>", ID).into_bytes();
        strip_query_session(&mut query);
        String::from_utf8(query).unwrap()
    }

    fn path(text: &str) -> String {
        let mut path = text.replace("<id>", &ID[..24]).into_bytes();
        strip_path_session(&mut path);
        String::from_utf8(path).unwrap()
    }

    #[test]
    fn query_sessions_go() {
        for (given, stripped) in [
            ("PHPSESSID=<id>&action=profile", "action=profile"),
            ("a=1&jsessionid=<id>", "a=1&"),
            ("a=1&sid=<id>&b=2", "a=1&b=2"),
            ("sid=<id>x", "sid=0123456789abcdefghijklemopqrstuvx"),
            ("sid=<id>&sid=<id>", "sid=0123456789abcdefghijklemopqrstuv&"),
            ("ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx&a", "a"),
            ("CFID=1&CFTOKEN=2&a=3", "a=3"),
            ("x&cfid=1cfid=2&cftoken=3", "x&cfid=1"),
            ("cfid=&cftoken=3", "cfid=&cftoken=3"),
        ] {
            assert_eq!(query(given), stripped, "{given}");
        }
    }

    #[test]
    fn path_sessions_go() {
        for (given, stripped) in [
            ("/a/(<id>)/page.aspx", "/a/page.aspx"),
            ("/a/(S(<id>)F(<id>))/page.ASPX?x", "/a/page.ASPX?x"),
            ("/(<id>)/.aspx", "/(0123456789abcdefghijklem)/.aspx"),
            ("/(<id>)/a?b.aspx", "/(0123456789abcdefghijklem)/a?b.aspx"),
            ("/(<id>)/(<id>)/a.aspx", "/(0123456789abcdefghijklem)/a.aspx"),
            ("/(<id>)/a.html", "/(0123456789abcdefghijklem)/a.html"),
        ] {
            assert_eq!(path(given), stripped, "{given}");
        }
    }
}
