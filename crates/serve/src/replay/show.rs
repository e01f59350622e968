//! One capture, shown: found, described, rewritten.

use std::io;
use std::sync::Arc;

use http::header::{self, HeaderName, HeaderValue};
use varve_archive::verbs::cat::removal_of;
use varve_archive::verbs::replay::{Found, Known, answer as answer_of, find};
use varve_archive::{ArchiveError, Capture};
use varve_core::headers::HeaderView;
use varve_page::rewrite::Links;

use super::address::{Address, Modifier};
use super::body::{Form, Opened, Rewriting, encoding};
use super::part::{Part, Wanted, accepts, copy, is_known, wanted};
use super::{headers, memento, missing};
use crate::answer::{Answer, Body};
use crate::request::Request;
use crate::shelf::Shelf;

/// How long a browser may show what was asked for by its very second, without asking again.
const EXACT: &str = "max-age=600";

/// Counts up whenever the same body is rewritten in another way.
const REWRITING: u32 = 1;

/// Shows what follows `/web/`.
pub(super) fn show(shelf: &Arc<Shelf>, request: &Request, rest: &str) -> Answer {
    if let Some(url) = rest.strip_prefix("*/") {
        let place = format!("{}/page?url={}", shelf.ui_origin(request), crate::text::value(url));
        return Answer::redirect(302, &place);
    }
    let address = match Address::parse(rest) {
        Ok(address) => address,
        Err(why) => return missing::bad_address(why),
    };
    match find(&*shelf.holdings, &address.url, address.time()) {
        // A download that failed shares its time with others, and cannot be named by it.
        Ok(Known::Here(found)) if address.digits.is_empty() && found.capture.status != 0 => {
            Answer::redirect(302, &Address { modifier: address.modifier, ..Address::of(&found) }.path())
        }
        Ok(Known::Here(found)) => one(shelf, request, address, *found),
        Ok(Known::There(url)) => {
            let other = HeaderValue::from_static("another scheme or host");
            Answer::redirect(302, &Address { url, ..address }.path())
                .with(HeaderName::from_static("x-varve-match"), other)
        }
        Ok(Known::No) => missing::not_captured(shelf, request, &address),
        Err(error) => missing::failed(&error),
    }
}

/// Shows a capture.
fn one(shelf: &Arc<Shelf>, request: &Request, address: Address, found: Found) -> Answer {
    let exact = found.exact && address.digits.len() >= 14;
    let links = memento::links(shelf, request, &found);
    let mut answer = match described(shelf, request, address, &found) {
        Ok(answer) => answer,
        Err(error) => {
            let is_failure = matches!(error, ArchiveError::DownloadFailed { .. });
            // What cannot be asked now is told as it was found.
            match removal_of(&*shelf.holdings, &found.capture) {
                Ok(Some(removal)) => missing::taken_out(&ArchiveError::Removed {
                    url: found.capture.url.clone(),
                    removal: Box::new(removal),
                }),
                _ => missing::body_failed(&found.capture, &error, is_failure),
            }
        }
    };
    if exact && answer.status < 400 {
        answer = answer.or(header::CACHE_CONTROL, EXACT);
    }
    memento::describe(answer, &found, links)
}

fn described(
    shelf: &Arc<Shelf>,
    request: &Request,
    address: Address,
    found: &Found,
) -> Result<Answer, ArchiveError> {
    let capture = &found.capture;
    let (status, view) = answer_of(&*shelf.holdings, capture)?;
    let content_type = headers::first(&view, "content-type");
    // Opening says whether the body is there at all, which matters even to whoever only asks for the head.
    let body = shelf.holdings.open_body(capture)?;
    let opened =
        Opened::read(body).map_err(|error| ArchiveError::Body(varve_archive::BodyError::new(error)))?;
    let form = Form::of(content_type, &opened.start, address.modifier, request.header("sec-fetch-dest"));
    let coded = coded(shelf, request, &address, &view, capture)?;
    let letter = if coded.is_some() { 'c' } else { form.letter() };
    let tag = tag_of(capture, letter);
    let vary = if address.modifier == Modifier::Raw { "Accept-Encoding" } else { "Sec-Fetch-Dest" };
    let rewriting = Rewriting {
        form,
        url: capture.url.clone(),
        encoding: encoding(&opened.start, content_type),
        address,
    };
    let mut answer = Answer { headers: headers::safe(&view), ..Answer::empty(shown_status(status)) };
    if let Some(kind) = rewriting.content_type(content_type) {
        answer = answer.with_text(header::CONTENT_TYPE, &kind);
    }
    if let Some(place) = location(&view, &rewriting) {
        answer = answer.with_text(header::LOCATION, &crate::text::header_url(&place));
    }
    if let Some(refresh) = refresh(&view, &rewriting) {
        answer = answer.with_text(header::REFRESH, &refresh);
    }
    answer = answer.with_text(header::ETAG, &tag).with(header::VARY, HeaderValue::from_static(vary));
    if answer.status == 200 && is_known(request.header("if-none-match"), &tag) {
        return Ok(Answer { status: 304, ..answer });
    }
    Ok(match coded {
        Some(coded) => with_payload(answer, coded, capture),
        None => with_body(answer, (shelf, request), &tag, rewriting, opened, capture),
    })
}

/// What was on the wire, with its codings.
struct Coded {
    codings: String,
    payload: Box<dyn io::Read + Send>,
}

/// What was on the wire, for whoever asks for it as it was and understands its codings. Who wants a part wants it of the
/// content.
fn coded(
    shelf: &Shelf,
    request: &Request,
    address: &Address,
    view: &HeaderView,
    capture: &Capture,
) -> Result<Option<Coded>, ArchiveError> {
    if address.modifier != Modifier::Raw || request.header("range").is_some() {
        return Ok(None);
    }
    let Some(codings) = headers::first(view, "content-encoding").map(str::to_ascii_lowercase) else {
        return Ok(None);
    };
    if !accepts(request.header("accept-encoding"), &codings) {
        return Ok(None);
    }
    let payload = shelf.holdings.open_payload(capture)?;
    Ok(payload.map(|payload| Coded { codings, payload }))
}

fn with_payload(answer: Answer, coded: Coded, capture: &Capture) -> Answer {
    let known = capture.clone();
    let instead = Box::new(move |error: &io::Error| missing::body_failed(&known, error, false));
    let Coded { codings, mut payload } = coded;
    let produce = Box::new(move |output: &mut dyn io::Write| io::copy(&mut payload, output).map(|_| ()));
    Answer { body: Body::Made { length: None, produce, instead }, ..answer }
        .with_text(header::CONTENT_ENCODING, &codings)
}

/// The tag of a capture in a form. Another way to rewrite makes another answer of the same body.
fn tag_of(capture: &Capture, letter: char) -> String {
    let id = capture.body.to_string();
    format!("\"{}-{letter}{REWRITING}\"", id.get(..32).unwrap_or(&id))
}

/// The status that is shown. What no server may send in answer to this is a page like any other.
fn shown_status(status: u16) -> u16 {
    match status {
        0..=199 | 204..=206 | 304 | 1000.. => 200,
        status => status,
    }
}

/// Adds the body: all of it, or the part that was asked for.
fn with_body(
    answer: Answer,
    (shelf, request): (&Arc<Shelf>, &Request),
    tag: &str,
    rewriting: Rewriting,
    opened: Opened,
    capture: &Capture,
) -> Answer {
    let known = capture.clone();
    let instead = Box::new(move |error: &io::Error| missing::body_failed(&known, error, false));
    if rewriting.form != Form::Raw {
        let produce = Box::new(move |output: &mut dyn io::Write| rewriting.write(opened, output));
        return Answer { body: Body::Made { length: None, produce, instead }, ..answer };
    }
    let Some(whole) = capture.length else {
        let produce = Box::new(move |output: &mut dyn io::Write| {
            io::copy(&mut opened.into_reader(), output).map(|_| ())
        });
        return Answer { body: Body::Made { length: None, produce, instead }, ..answer };
    };
    let answer = answer.with(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let may_part =
        answer.status == 200 && request.header("if-range").is_none_or(|condition| condition == tag);
    let asked = request.header("range").filter(|_| may_part);
    let (answer, part) = match wanted(asked, whole) {
        Wanted::All => (answer, None),
        Wanted::Part(part) => {
            let range = format!("bytes {}-{}/{whole}", part.start, part.start + part.length - 1);
            (Answer { status: 206, ..answer }.with_text(header::CONTENT_RANGE, &range), Some(part))
        }
        Wanted::Nothing => {
            return Answer::empty(416).with_text(header::CONTENT_RANGE, &format!("bytes */{whole}"));
        }
    };
    let Some(part) = part else {
        let produce = Box::new(move |output: &mut dyn io::Write| write_raw(opened, whole, output));
        return Answer { body: Body::Made { length: Some(whole), produce, instead }, ..answer };
    };
    let (shelf, capture) = (Arc::clone(shelf), capture.clone());
    let produce = Box::new(move |output: &mut dyn io::Write| write_part(&shelf, &capture, part, output));
    Answer { body: Body::Made { length: Some(part.length), produce, instead }, ..answer }
}

/// Writes a part of a body.
fn write_part(shelf: &Shelf, capture: &Capture, part: Part, output: &mut dyn io::Write) -> io::Result<()> {
    let end = part.start + part.length;
    let mut body = shelf.holdings.open_part(capture, part.start, end).map_err(io::Error::other)?;
    copy(&mut body, part.length, output)
}

/// Writes a body as it is. All of it is read to its end, which is where it is checked.
fn write_raw(opened: Opened, whole: u64, output: &mut dyn io::Write) -> io::Result<()> {
    match io::copy(&mut opened.into_reader(), output)? {
        copied if copied == whole => Ok(()),
        copied => Err(io::Error::other(format!("the body has {copied} bytes and should have {whole}"))),
    }
}

/// Where a redirect leads, here.
fn location(view: &HeaderView, rewriting: &Rewriting) -> Option<String> {
    let location = headers::first(view, "location")?;
    let address = rewriting.address.clone();
    let modifier = if address.modifier == Modifier::Raw { Modifier::Raw } else { Modifier::None };
    let to =
        move |url: &str| Address { url: url.to_owned(), modifier, digits: address.digits.clone() }.path();
    Links::new(&rewriting.url, to).ok()?.leads(location)
}

fn refresh(view: &HeaderView, rewriting: &Rewriting) -> Option<String> {
    let refresh = headers::first(view, "refresh")?;
    let address = rewriting.address.clone();
    let to =
        move |url: &str| crate::text::header_url(&Address { url: url.to_owned(), ..address.clone() }.path());
    Links::new(&rewriting.url, to).ok()?.refresh(refresh)
}
