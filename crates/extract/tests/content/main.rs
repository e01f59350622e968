//! Whole pages: of every kind that is common, of hostile authors, and of a public corpus.

mod corpus;
mod hostile;
mod kinds;

use std::collections::HashMap;
use varve_extract::{ExtractOptions, Extraction, PageInput, extract};

/// Extracts a page in all forms.
fn read(html: &str, url: &str) -> Extraction {
    let input = PageInput {
        body: html.as_bytes(),
        content_type: Some("text/html; charset=utf-8"),
        requested_url: url,
        ..PageInput::default()
    };
    extract(&input, &ExtractOptions { html: true, markdown: true, ..ExtractOptions::default() })
}

/// The words of a text in lower case, with their numbers.
fn count_words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let words = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    for word in words.filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}

/// The F1 of the words of a text against those of a reference. Without a reference only an empty
/// text is right.
fn word_f1(text: &str, reference: &str) -> f64 {
    let (found, expected) = (count_words(text), count_words(reference));
    let [found_total, expected_total] = [&found, &expected].map(|counts| counts.values().sum::<usize>());
    if expected_total == 0 {
        return if found_total == 0 { 1.0 } else { 0.0 };
    }
    let common: usize = found.iter().map(|(word, count)| expected.get(word).unwrap_or(&0).min(count)).sum();
    2.0 * common as f64 / (found_total + expected_total) as f64
}
