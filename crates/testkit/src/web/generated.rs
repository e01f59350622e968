//! A site of any number of pages, made from their numbers alone: the same bytes in every run.
//!
//! Page 0 leads to all others: page I links to the existing ones of 4·I+1 … 4·I+4 and to a few
//! pseudo-random ones, so that every page has several links.

use super::answer::Answer;
use super::request::Request;

/// How many children a page has.
const CHILDREN: usize = 4;

/// `/site/N/I`.
pub(super) fn answer(request: &Request) -> Answer {
    let (pages, number) = (request.number(1), request.number(2));
    let is_page = number < pages && request.path() == path(pages, number);
    if is_page { Answer::html(page(pages, number)) } else { Answer::status(404) }
}

fn path(pages: usize, number: usize) -> String {
    format!("/site/{pages}/{number}")
}

/// The text of a page.
fn page(pages: usize, number: usize) -> String {
    let children = (number * CHILDREN + 1..=number * CHILDREN + CHILDREN).filter(|child| *child < pages);
    let others = (1..=3).map(|turn| mixed(number * 8 + turn) % pages);
    let link = |to: usize| format!("<li><a href=\"{}\">page {to}</a></li>\n", path(pages, to));
    let links: String = children.chain(others).map(link).collect();
    let paragraphs: String = (0..1 + number % 7).map(|turn| paragraph(number * 16 + turn)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page {number} of {pages}</title></head>\n\
         <body><h1>Page {number}</h1>\n{paragraphs}<ul>\n{links}</ul></body></html>\n"
    )
}

/// Some words.
fn paragraph(seed: usize) -> String {
    const WORDS: [&str; 16] = [
        "lake", "layer", "winter", "silt", "summer", "clay", "year", "water", "ice", "thin", "dark", "light",
        "bed", "count", "pollen", "core",
    ];
    let words = (0..40).map(|turn| WORDS[mixed(seed * 64 + turn) % WORDS.len()]);
    format!("<p>{}.</p>\n", words.collect::<Vec<_>>().join(" "))
}

/// A number that looks random and is not.
fn mixed(seed: usize) -> usize {
    let mut number = (seed as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (number >> 33) as usize
}
