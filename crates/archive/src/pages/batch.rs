//! A batch of URLs: which of them saved extractions answer, and which pages have to be fetched.
//!
//! The lookup is a step of its own, so that a server answers what it has saved without waiting for
//! other requests that fetch. A page that several URLs of a batch lead to is fetched once, also if
//! that fails.

use std::collections::HashMap;

use super::page_service::{PageResult, PageService, with_original};
use super::url_request::UrlRequest;
use super::{FetchMethod, MAX_BATCH_URLS, PageError};

/// A batch after the lookup of saved extractions.
pub(super) struct Batch<'a> {
    urls: &'a [String],
    /// An answer for each URL.
    answers: Vec<BatchAnswer>,
    /// The pages to fetch, each once.
    pub(super) missing: Vec<UrlRequest>,
}

/// The answer for one URL of a batch.
enum BatchAnswer {
    Known(Box<PageResult>),
    /// That of the page to fetch with this number.
    Fetched(usize),
}

impl<'a> Batch<'a> {
    /// Looks up all URLs, and fetches nothing.
    pub(super) fn look_up(service: &PageService, urls: &'a [String]) -> Result<Self, PageError> {
        if urls.is_empty() || urls.len() > MAX_BATCH_URLS {
            return Err(PageError::BatchSize(urls.len()));
        }
        let mut batch = Self { urls, answers: Vec::with_capacity(urls.len()), missing: Vec::new() };
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for url in urls {
            let answer = match UrlRequest::parse(url) {
                Err(error) => BatchAnswer::Known(Box::new(Err(error))),
                Ok(request) => match service.find_valid(&request, FetchMethod::Direct)? {
                    Some(page) => BatchAnswer::Known(Box::new(Ok(page))),
                    None => BatchAnswer::Fetched(*numbers.entry(request.sent.clone()).or_insert_with(|| {
                        batch.missing.push(request);
                        batch.missing.len() - 1
                    })),
                },
            };
            batch.answers.push(answer);
        }
        Ok(batch)
    }

    /// The answers in the order of the URLs. A page that several URLs lead to was fetched once.
    pub(super) fn answers_of(self, service: &PageService, fetched: Vec<PageResult>) -> Vec<PageResult> {
        let mut fetched: Vec<Option<PageResult>> = fetched.into_iter().map(Some).collect();
        let answer = |(answer, url): (BatchAnswer, &String)| {
            let page = match answer {
                BatchAnswer::Known(result) => *result,
                BatchAnswer::Fetched(number) => {
                    let result = fetched[number].take().expect("each page was fetched, and is put back");
                    fetched[number] = Some(repeated(&result));
                    result.map(|page| with_original(page, url))
                }
            };
            page.and_then(|page| service.presented(page))
        };
        self.answers.into_iter().zip(self.urls).map(answer).collect()
    }
}

/// The same answer for another URL of a batch. Of an error it has the page object.
fn repeated(result: &PageResult) -> PageResult {
    match result {
        Ok(page) => Ok(page.clone()),
        Err(error) => Err(PageError::Repeated { page: Box::new(error.to_page()) }),
    }
}
