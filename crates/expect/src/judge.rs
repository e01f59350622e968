//! Compares a response with its expectation.
//!
//! The rule depends on the keys of the record:
//!
//! | the record has | the response must be |
//! | --- | --- |
//! | a path alone | 2xx or 3xx |
//! | a length or digest | after redirects 2xx, of that length and digest, and of the type if there is one |
//! | a type, and no length or digest | not a redirect, not an error, and of that type |
//!
//! A type may be `X-301-Redirect`: then exactly that redirect is expected. The category
//! `redirect-ok` accepts any redirect, `content-type-change-ok` any type, and a `deprecated` URL is
//! not checked. Types are compared without their parameters and without case. Two pairs of types
//! count as equal: `application/x-javascript` where `application/javascript` was recorded, and
//! `application/zip` where `application/x-zip-compressed` was.

use super::observed::Observed;
use super::record::{CONTENT_TYPE_CHANGE_OK, DEPRECATED_CATEGORY, Expectation, REDIRECT_OK};
use super::verdict::{Departure, Verdict, redirect_type};

/// How the client must treat redirects so that the response can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// The first response is judged.
    First,
    /// Redirects are followed to the content.
    Redirects,
}

impl Follow {
    /// The treatment that an expectation needs.
    pub fn needed(expectation: &Expectation) -> Self {
        let kept = expectation.is_static() && !is_redirect_type(expectation);
        if kept && !expectation.has_category(REDIRECT_OK) { Self::Redirects } else { Self::First }
    }
}

/// The verdict on where the redirects of a URL end. `end` is the last response.
pub fn judge_redirect_end(end: &Observed) -> Verdict {
    let url = || end.final_url.clone().unwrap_or_default();
    if let Some(reason) = &end.dead_end {
        return departs(Departure::DeadEnd { reason: reason.clone() });
    }
    if let Some(reason) = &end.error {
        return Verdict::Unreachable(format!("redirects to {}: {reason}", url()));
    }
    match end.status {
        Some(got @ 400..) => departs(Departure::RedirectEnd { url: url(), got }),
        _ => Verdict::Ok,
    }
}

/// Compares a response with its expectation.
pub fn judge(expectation: &Expectation, observed: &Observed) -> Verdict {
    if expectation.has_category(DEPRECATED_CATEGORY) {
        return Verdict::Skipped(DEPRECATED_CATEGORY.to_owned());
    }
    if let Some(reason) = &observed.error {
        return Verdict::Unreachable(reason.clone());
    }
    if let Some(reason) = &observed.dead_end {
        return departs(Departure::DeadEnd { reason: reason.clone() });
    }
    let Some(status) = observed.status else {
        return Verdict::Unreachable("there was no answer".to_owned());
    };
    let redirect = observed.first_redirect();
    match redirect {
        Some(_) if expectation.has_category(REDIRECT_OK) => Verdict::Ok,
        Some(got) if expectation.media_type.as_deref() == Some(&redirect_type(got)) => Verdict::Ok,
        Some(got) if expectation.media_type.is_some() && Follow::needed(expectation) == Follow::First => {
            unexpected_redirect(expectation, got)
        }
        _ if expectation.is_static() => content(expectation, observed, status),
        _ if expectation.media_type.is_some() => {
            if status >= 400 {
                return departs(Departure::Status { expected: "a status below 400", got: status });
            }
            Verdict::of(wrong_type(expectation, observed).into_iter().collect())
        }
        _ => accessible(observed),
    }
}

fn is_redirect_type(expectation: &Expectation) -> bool {
    let kind = expectation.media_type.as_deref().unwrap_or_default();
    kind.strip_prefix("X-").is_some_and(|rest| rest.ends_with("-Redirect"))
}

fn departs(departure: Departure) -> Verdict {
    Verdict::of(vec![departure])
}

fn unexpected_redirect(expectation: &Expectation, got: u16) -> Verdict {
    let expected = expectation.media_type.clone().unwrap_or_default();
    departs(Departure::Redirect { expected, got })
}

/// For a path alone, a redirect is accepted. [`judge_redirect_end`] judges where it leads.
fn accessible(observed: &Observed) -> Verdict {
    match observed.first_status() {
        Some(200..=399) => Verdict::Ok,
        Some(got) => departs(Departure::Status { expected: "HTTP 2xx or 3xx", got }),
        None => Verdict::Unreachable("there was no answer".to_owned()),
    }
}

fn content(expectation: &Expectation, observed: &Observed, status: u16) -> Verdict {
    if !(200..300).contains(&status) {
        return departs(Departure::Status { expected: "HTTP 2xx", got: status });
    }
    let (Some(length), Some(sha256)) = (observed.length, observed.sha256) else {
        return Verdict::Unreachable("the content was not read to its end".to_owned());
    };
    let mut departures: Vec<Departure> = wrong_type(expectation, observed).into_iter().collect();
    if let Some(expected) = expectation.length.filter(|expected| *expected != length) {
        departures.push(Departure::Length { expected, got: length });
    }
    if let Some(expected) = expectation.sha256.filter(|expected| *expected != sha256) {
        departures.push(Departure::Digest { expected, got: sha256 });
    }
    Verdict::of(departures)
}

fn wrong_type(expectation: &Expectation, observed: &Observed) -> Option<Departure> {
    let recorded = expectation.media_type.as_deref()?;
    let got = observed.media_type.as_deref().map(essence);
    let same = got.is_some_and(|got| passes_for(essence(recorded), got));
    if same || expectation.has_category(CONTENT_TYPE_CHANGE_OK) {
        return None;
    }
    Some(Departure::MediaType { expected: recorded.to_owned(), got: got.map(str::to_owned) })
}

/// A media type without its parameters.
fn essence(kind: &str) -> &str {
    kind.split(';').next().unwrap_or_default().trim()
}

fn passes_for(recorded: &str, got: &str) -> bool {
    let is = |text: &str, wanted: &str| text.eq_ignore_ascii_case(wanted);
    is(recorded, got)
        || is(recorded, "application/javascript") && is(got, "application/x-javascript")
        || is(recorded, "application/x-zip-compressed") && is(got, "application/zip")
}

#[cfg(test)]
mod tests {
    use super::super::observed::Redirect;
    use super::*;
    use varve_core::BodyId;

    fn answer(status: u16, media_type: &str) -> Observed {
        Observed { status: Some(status), media_type: Some(media_type.to_owned()), ..Observed::default() }
    }

    fn redirect(status: u16) -> Observed {
        Observed { status: Some(status), location: Some("/there".into()), ..Observed::default() }
    }

    fn content(length: u64, digest: u8) -> Observed {
        let sha256 = Some(BodyId::new([digest; 32]));
        Observed { length: Some(length), sha256, ..answer(200, "text/plain; charset=utf-8") }
    }

    fn expected(media_type: &str, categories: &[&str]) -> Expectation {
        Expectation {
            media_type: Some(media_type.to_owned()),
            categories: categories.iter().map(|name| (*name).to_owned()).collect(),
            ..Expectation::new("/")
        }
    }

    fn fixed(length: u64, digest: u8) -> Expectation {
        Expectation { length: Some(length), sha256: Some(BodyId::new([digest; 32])), ..Expectation::new("/") }
    }

    fn says(expectation: &Expectation, observed: &Observed) -> String {
        let verdict = judge(expectation, observed);
        verdict.reason().map_or(verdict.kind().to_string(), |reason| format!("{}: {reason}", verdict.kind()))
    }

    #[test]
    fn a_path_alone_accepts_2xx_and_3xx() {
        let path = Expectation::new("/");
        for status in [200, 204, 301, 304, 399] {
            assert_eq!(judge(&path, &answer(status, "x/y")), Verdict::Ok, "{status}");
        }
        for (status, kind) in [(100, "changed"), (404, "broken"), (500, "broken")] {
            assert_eq!(
                says(&path, &answer(status, "x/y")),
                format!("{kind}: expected HTTP 2xx or 3xx; got HTTP {status}")
            );
        }
        let followed = Observed {
            redirects: vec![Redirect { status: 302, location: "/gone".into() }],
            ..answer(404, "text/html")
        };
        assert_eq!(judge(&path, &followed), Verdict::Ok);
    }

    #[test]
    fn static_content_is_compared_after_redirects() {
        assert_eq!(Follow::needed(&fixed(5, 1)), Follow::Redirects);
        assert_eq!(judge(&fixed(5, 1), &content(5, 1)), Verdict::Ok);
        let moved =
            Observed { redirects: vec![Redirect { status: 301, location: "/x".into() }], ..content(5, 1) };
        assert_eq!(judge(&fixed(5, 1), &moved), Verdict::Ok);
        let Verdict::Changed(departures) = judge(&fixed(5, 1), &content(6, 2)) else { panic!() };
        assert_eq!(departures.len(), 2);
        assert_eq!(departures[0].to_string(), "content length changed from 5 bytes to 6 bytes");
        assert_eq!(says(&fixed(5, 1), &answer(404, "x/y")), "broken: expected HTTP 2xx; got HTTP 404");
        assert_eq!(says(&fixed(5, 1), &answer(301, "x/y")), "changed: expected HTTP 2xx; got HTTP 301");
        assert_eq!(
            says(&fixed(5, 1), &answer(200, "x/y")),
            "unreachable: the content was not read to its end"
        );
        let only_length = Expectation { sha256: None, ..fixed(5, 1) };
        assert_eq!(judge(&only_length, &content(5, 9)), Verdict::Ok);
        let typed = Expectation { media_type: Some("text/html".into()), ..fixed(5, 1) };
        assert_eq!(says(&typed, &content(5, 1)), "changed: expected content type text/html; got text/plain");
    }

    #[test]
    fn a_type_forbids_redirects_unless_they_are_expected() {
        let page = expected("text/html", &[]);
        assert_eq!(says(&page, &redirect(302)), "changed: expected text/html; got X-302-Redirect");
        assert_eq!(judge(&expected("X-302-Redirect", &[]), &redirect(302)), Verdict::Ok);
        assert_eq!(
            says(&expected("X-301-Redirect", &[]), &redirect(302)),
            "changed: expected X-301-Redirect; got X-302-Redirect"
        );
        assert_eq!(judge(&expected("text/html", &[REDIRECT_OK]), &redirect(307)), Verdict::Ok);
        let kept = Expectation { categories: [REDIRECT_OK.to_owned()].into(), ..fixed(5, 1) };
        assert_eq!(judge(&kept, &redirect(308)), Verdict::Ok);
        assert_eq!(
            says(&expected("X-301-Redirect", &[]), &answer(200, "text/html")),
            "changed: expected content type X-301-Redirect; got text/html"
        );
        assert_eq!(judge(&page, &answer(304, "text/html")), Verdict::Ok, "a redirect says where to");
        assert_eq!(
            says(&page, &answer(410, "text/html")),
            "broken: expected a status below 400; got HTTP 410"
        );
    }

    #[test]
    fn types_are_compared_without_parameters_and_two_pairs_are_equal() {
        assert_eq!(judge(&expected("text/html", &[]), &answer(200, "Text/HTML ; charset=x")), Verdict::Ok);
        assert_eq!(judge(&expected("text/html; charset=x", &[]), &answer(200, "text/html")), Verdict::Ok);
        assert_eq!(
            judge(&expected("application/javascript", &[]), &answer(200, "application/x-javascript")),
            Verdict::Ok
        );
        assert_eq!(
            judge(&expected("application/x-zip-compressed", &[]), &answer(200, "application/zip")),
            Verdict::Ok
        );
        assert!(
            judge(&expected("application/zip", &[]), &answer(200, "application/x-zip-compressed"))
                .is_failure()
        );
        assert_eq!(judge(&expected("a/b", &[CONTENT_TYPE_CHANGE_OK]), &answer(200, "c/d")), Verdict::Ok);
        let without = Observed { media_type: None, ..answer(200, "") };
        assert_eq!(
            says(&expected("a/b", &[]), &without),
            "changed: expected content type a/b; got no content type"
        );
    }

    #[test]
    fn the_end_of_redirects_is_broken_by_an_error_or_a_loop() {
        let end = |status| Observed { final_url: Some("http://e/x".into()), ..answer(status, "text/html") };
        assert_eq!(judge_redirect_end(&end(200)), Verdict::Ok);
        let gone = judge_redirect_end(&end(404));
        assert_eq!(gone.kind().name(), "broken");
        assert_eq!(gone.reason().unwrap(), "redirects to http://e/x, which answers HTTP 404");
        let circle = Observed { dead_end: Some("the redirects go in a circle".into()), ..end(302) };
        assert_eq!(judge_redirect_end(&circle).kind().name(), "broken");
        assert_eq!(says(&fixed(5, 1), &circle), "broken: the redirects go in a circle");
        let refused = Observed { error: Some("refused".into()), ..end(0) };
        let refused = judge_redirect_end(&refused);
        assert_eq!(refused, Verdict::Unreachable("redirects to http://e/x: refused".into()));
    }

    #[test]
    fn deprecated_urls_are_skipped_and_failed_requests_are_unreachable() {
        assert_eq!(
            says(&expected("a/b", &[DEPRECATED_CATEGORY]), &Observed::failed("x")),
            "skipped: deprecated"
        );
        assert_eq!(says(&Expectation::new("/"), &Observed::failed("timed out")), "unreachable: timed out");
        assert_eq!(says(&Expectation::new("/"), &Observed::default()), "unreachable: there was no answer");
    }
}
