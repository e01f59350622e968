//! Memento (RFC 7089): which time an answer is from, its neighbours, the list of all, and the gate to the nearest.

use std::io::{self, Write};
use std::sync::Arc;

use http::header::{self, HeaderName, HeaderValue};
use varve_archive::history::Holdings;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, TimeOrder};
use varve_archive::verbs::replay::{Found, Known, When, all_spellings, ends, find, known_as, precise_digits};
use varve_archive::{ArchiveError, Capture};

use super::address::{Address, BadAddress, Modifier};
use super::missing;
use crate::answer::{Answer, Body};
use crate::request::Request;
use crate::shelf::Shelf;
use crate::text::{header_url, http_date, parse_http_date};

/// So many captures of a time map are read at a time.
const PIECE: usize = 500;

/// Where a capture is, from outside. Among others of its second it is named to the microsecond.
fn place(origin: &str, capture: &Capture, shares_second: bool) -> String {
    let digits = if shares_second { precise_digits(capture.time) } else { capture.time.digits() };
    let address = Address { digits, modifier: Modifier::None, url: capture.url.clone() };
    header_url(&format!("{origin}{}", address.path()))
}

/// Whether one of these is another capture of the same second.
fn shares_second<'c>(capture: &Capture, others: impl IntoIterator<Item = &'c Capture>) -> bool {
    others.into_iter().any(|other| other.id != capture.id && other.time.seconds() == capture.time.seconds())
}

/// The links of a capture to its neighbours.
pub(super) fn links(shelf: &Shelf, request: &Request, found: &Found) -> String {
    let origin = shelf.replay_origin(request);
    let capture = &found.capture;
    let url = header_url(&capture.url);
    let mut links = format!(
        "<{url}>; rel=\"original\", <{origin}/timegate/{url}>; rel=\"timegate\", \
         <{origin}/timemap/link/{url}>; rel=\"timemap\"; type=\"application/link-format\""
    );
    let (first, last) = match (&found.previous, &found.next) {
        (Some(_), _) | (_, Some(_)) => ends_of(&*shelf.holdings, &capture.url).ok().flatten().unzip(),
        (None, None) => (Some(capture.clone()), Some(capture.clone())),
    };
    let all = [
        (first.as_ref(), "first"),
        (found.previous.as_ref(), "prev"),
        (found.next.as_ref(), "next"),
        (last.as_ref(), "last"),
    ];
    let mut told: Vec<(&Capture, Vec<&str>)> = vec![(capture, Vec::new())];
    for (capture, relation) in all.into_iter().filter_map(|(capture, relation)| Some((capture?, relation))) {
        match told.iter_mut().find(|(known, _)| known.id == capture.id) {
            Some((_, relations)) => relations.push(relation),
            None => told.push((capture, vec![relation])),
        }
    }
    for (capture, relations) in &told {
        let relations: String = relations.iter().flat_map(|relation| [relation, " "]).collect();
        let shares = shares_second(capture, told.iter().map(|(other, _)| *other));
        let (place, date) = (place(&origin, capture, shares), http_date(capture.time));
        links.push_str(&format!(", <{place}>; rel=\"{relations}memento\"; datetime=\"{date}\""));
    }
    links
}

/// Says which capture an answer is.
pub(super) fn describe(answer: Answer, found: &Found, links: String) -> Answer {
    answer
        .with_text(HeaderName::from_static("memento-datetime"), &http_date(found.capture.time))
        .with_text(header::LINK, &links)
        .with_text(header::CONTENT_LOCATION, &header_url(&Address::of(found).path()))
}

/// `/timegate/URL`: leads to the capture nearest to `Accept-Datetime`.
pub(super) fn time_gate(shelf: &Shelf, request: &Request, rest: &str) -> Answer {
    let address = match Address::newest(rest) {
        Ok(address) => address,
        Err(why) => return missing::bad_address(why),
    };
    let time = match request.headers.get("accept-datetime") {
        None => None,
        Some(asked) => match asked.to_str().ok().and_then(parse_http_date) {
            Some(time) => Some(When::second(time)),
            None => return missing::bad_address(BadAddress::Time),
        },
    };
    let answer = match find(&*shelf.holdings, &address.url, time) {
        Ok(Known::Here(found)) => {
            let origin = shelf.replay_origin(request);
            let answer = Answer::redirect(302, &format!("{origin}{}", Address::of(&found).path()));
            answer.with_text(header::LINK, &links(shelf, request, &found))
        }
        Ok(Known::There(url)) => Answer::redirect(302, &format!("/timegate/{url}")),
        Ok(Known::No) => missing::not_captured(shelf, request, &address),
        Err(error) => missing::failed(&error),
    };
    answer.with(header::VARY, HeaderValue::from_static("accept-datetime"))
}

/// `/timemap/link/URL`: every capture of a URL.
pub(super) fn time_map(shelf: &Arc<Shelf>, request: &Request, rest: &str) -> Answer {
    let address = match Address::newest(rest) {
        Ok(address) => address,
        Err(why) => return missing::bad_address(why),
    };
    let url = match known_as(&*shelf.holdings, &address.url) {
        Ok(Some(url)) => url,
        Ok(None) => return missing::not_captured(shelf, request, &address),
        Err(error) => return missing::failed(&error),
    };
    let origin = shelf.replay_origin(request);
    let shelf = Arc::clone(shelf);
    let produce = Box::new(move |output: &mut dyn Write| write_map(&shelf, &origin, &url, output));
    let instead = Box::new(|error: &io::Error| {
        crate::pages::plain(500, "The archive could not answer.", &error.to_string())
    });
    Answer { body: Body::Made { length: None, produce, instead }, ..Answer::empty(200) }
        .with(header::CONTENT_TYPE, HeaderValue::from_static("application/link-format"))
}

/// The first and the last capture of a URL, by whichever spellings they were made.
fn ends_of(holdings: &dyn Holdings, url: &str) -> Result<Option<(Capture, Capture)>, ArchiveError> {
    let spellings = all_spellings(holdings, url)?;
    ends(holdings, &spellings.iter().map(String::as_str).collect::<Vec<_>>())
}

fn write_map(shelf: &Shelf, origin: &str, url: &str, output: &mut dyn Write) -> io::Result<()> {
    let spellings = all_spellings(&*shelf.holdings, url).map_err(io::Error::other)?;
    let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
    let ends = ends(&*shelf.holdings, &spellings).map_err(io::Error::other)?;
    let Some((first, last)) = ends else { return Ok(()) };
    let shown = header_url(url);
    write!(
        output,
        "<{shown}>; rel=\"original\",\n<{origin}/timegate/{shown}>; rel=\"timegate\",\n\
         <{origin}/timemap/link/{shown}>; rel=\"self\"; type=\"application/link-format\"; from=\"{}\"; until=\"{}\"",
        http_date(first.time),
        http_date(last.time)
    )?;
    let mut after: Option<Capture> = None;
    loop {
        let page = ListCursor { after: after.as_ref(), limit: PIECE };
        let filter = CaptureFilter::default();
        let piece = shelf
            .holdings
            .catalog()
            .captures_of_any(&spellings, &filter, TimeOrder::OldestFirst, page)
            .map_err(io::Error::other)?;
        for (number, capture) in piece.iter().enumerate() {
            let around = &piece[number.saturating_sub(1)..piece.len().min(number + 2)];
            let shares = shares_second(capture, around.iter().chain(after.as_ref()));
            let relation = match (capture.id == first.id, capture.id == last.id) {
                (true, true) => "first last memento",
                (true, false) => "first memento",
                (false, true) => "last memento",
                (false, false) => "memento",
            };
            write!(
                output,
                ",\n<{}>; rel=\"{relation}\"; datetime=\"{}\"",
                place(origin, capture, shares),
                http_date(capture.time)
            )?;
        }
        if piece.len() < PIECE {
            return writeln!(output);
        }
        after = piece.into_iter().last();
    }
}
