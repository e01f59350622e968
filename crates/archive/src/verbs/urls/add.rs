//! `urls add`: records the current responses of URLs as expectations.
//!
//! All URLs are requested before anything is written. Each file is written once, regardless of the
//! number of URLs added to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::expectations::{
    DomainHead, Expectation, Follow, Observed, ProbeFailure, ProbeRequest, ProbeResponse, Prober, Target,
    UrlDatabase, UrlsError, of_host,
};

/// The options for adding URLs.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The content must never change: record its length and digest.
    pub fixed: bool,
    /// Their categories.
    pub categories: Vec<String>,
    /// Create a file for a domain that has none.
    pub new_domain: bool,
}

/// The result for an added URL.
#[derive(Clone, Debug)]
pub struct Added {
    /// The URL, in the spelling of the database.
    pub url: String,
    /// The file that contains it.
    pub path: PathBuf,
    /// Whether it is new. If not, nothing has changed.
    pub new: bool,
    /// Whether the file is new.
    pub new_domain: bool,
    /// Whether `http` was assumed because no scheme was given.
    pub assumed_http: bool,
}

/// The result for each URL, in the order given.
pub type Outcomes = Vec<Result<Added, AddError>>;

/// Why a URL was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The database refused it, or could not be read or written.
    #[error(transparent)]
    Database(#[from] UrlsError),
    /// The response cannot be recorded as an expectation.
    #[error("`{}` cannot be added: {reason}", url.escape_debug())]
    Answer {
        /// The URL.
        url: String,
        /// The reason.
        reason: String,
        /// Why the request failed, if it did.
        trouble: Option<ProbeFailure>,
    },
}

/// Adds URLs. Without a prober only their paths are recorded.
pub fn add(
    database: &UrlDatabase,
    urls: &[impl AsRef<str>],
    request: &Request,
    prober: Option<&dyn Prober>,
    on_loss: super::OnLoss<'_>,
) -> Result<Outcomes, UrlsError> {
    let mut domains = KnownDomains::read(database)?;
    let mut wishes: Vec<_> = urls.iter().map(|url| domains.wish(url.as_ref(), request)).collect();
    domains.mark_known(&mut wishes)?;
    if let Some(prober) = prober {
        learn(&mut wishes, request.fixed, prober);
    }
    if !wishes.iter().flatten().any(|wish| wish.added.new) {
        return Ok(wishes.into_iter().map(|wish| wish.map(|wish| wish.added)).collect());
    }
    // The requests may be slow, and the files may have changed meanwhile.
    let _editing = database.edit()?;
    let mut domains = KnownDomains::read(database)?;
    for wish in wishes.iter_mut().flatten().filter(|wish| wish.added.new) {
        wish.domain = domains.of(&wish.target, wish.secure, request)?;
    }
    domains.mark_known(&mut wishes)?;
    domains.add(wishes, on_loss)
}

/// A URL to add.
struct UrlToAdd {
    target: Target,
    /// Whether it is requested by https.
    secure: bool,
    /// The number of its domain.
    domain: usize,
    expectation: Expectation,
    added: Added,
}

/// The domains of a database, some of them without a file yet.
struct KnownDomains<'a> {
    database: &'a UrlDatabase,
    heads: Vec<DomainHead>,
}

impl<'a> KnownDomains<'a> {
    fn read(database: &'a UrlDatabase) -> Result<Self, UrlsError> {
        Ok(Self { database, heads: database.heads()? })
    }

    /// The number of the domain of a URL. Makes a new one if the request allows it.
    fn of(&mut self, target: &Target, secure: bool, request: &Request) -> Result<usize, UrlsError> {
        match of_host(self.heads.iter().map(|head| &head.file), target) {
            Some(at) => Ok(at),
            None if request.new_domain => {
                let mut head = self.database.new_file(&target.host)?;
                head.file.domain.https = secure.then_some(true);
                self.heads.push(head);
                Ok(self.heads.len() - 1)
            }
            None => Err(UrlsError::UnknownDomain { host: target.host.clone() }),
        }
    }

    fn wish(&mut self, url: &str, request: &Request) -> Result<UrlToAdd, AddError> {
        let target = Target::parse(url).map_err(UrlsError::from)?;
        let secure = url.trim_start().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:"));
        let domain = self.of(&target, secure, request)?;
        let head = &self.heads[domain];
        let path = target.path_in(&head.file);
        let added = Added {
            url: head.file.url(&Expectation::new(&path)),
            new: true,
            new_domain: false,
            path: head.path.clone(),
            assumed_http: target.assumed_http,
        };
        let expectation = Expectation { categories: request.categories.clone(), ..Expectation::new(path) };
        Ok(UrlToAdd { target, secure, domain, expectation, added })
    }

    /// Marks the URLs that have a record, and those that were given before.
    fn mark_known(&self, wishes: &mut [Result<UrlToAdd, AddError>]) -> Result<(), UrlsError> {
        let mut wanted = BTreeMap::<usize, BTreeSet<String>>::new();
        for wish in wishes.iter_mut().flatten().filter(|wish| wish.added.new) {
            wish.added.new = wanted.entry(wish.domain).or_default().insert(wish.expectation.path.clone());
        }
        for (domain, paths) in wanted {
            let head = &self.heads[domain];
            if head.is_new {
                continue;
            }
            let known = self.database.known_paths(&head.path, &paths)?;
            let of_domain = wishes.iter_mut().flatten().filter(|wish| wish.domain == domain);
            of_domain.for_each(|wish| wish.added.new &= !known.contains(&wish.expectation.path));
        }
        Ok(())
    }

    /// Writes each file once.
    fn add(
        &self,
        wishes: Vec<Result<UrlToAdd, AddError>>,
        on_loss: super::OnLoss<'_>,
    ) -> Result<Outcomes, UrlsError> {
        let mut records = BTreeMap::<usize, BTreeMap<String, Expectation>>::new();
        let mut outcomes = Vec::with_capacity(wishes.len());
        for wish in wishes {
            outcomes.push(wish.map(|UrlToAdd { domain, expectation, mut added, .. }| {
                if added.new {
                    added.new_domain = self.heads[domain].is_new && !records.contains_key(&domain);
                    records.entry(domain).or_default().insert(expectation.path.clone(), expectation);
                }
                added
            }));
        }
        for (domain, records) in records {
            let head = &self.heads[domain];
            self.database.add_records(head, records, &mut |lines| on_loss(&head.path, lines))?;
        }
        Ok(outcomes)
    }
}

/// Requests all new URLs and records their current responses.
fn learn(wishes: &mut [Result<UrlToAdd, AddError>], fixed: bool, prober: &dyn Prober) {
    let follow = if fixed { Follow::Redirects } else { Follow::First };
    let is_new = |wish: &Result<UrlToAdd, AddError>| wish.as_ref().is_ok_and(|wish| wish.added.new);
    let asked: Vec<usize> = (0..wishes.len()).filter(|at| is_new(&wishes[*at])).collect();
    let questions: Vec<ProbeRequest> = asked
        .iter()
        .filter_map(|at| wishes[*at].as_ref().ok())
        .map(|wish| ProbeRequest {
            url: wish.added.url.clone(),
            follow,
            content: fixed,
            length: None,
            max_bytes: None,
        })
        .collect();
    let unanswered = || ProbeResponse::from(Observed::failed("the question was not answered"));
    let mut answers: Vec<ProbeResponse> = questions.iter().map(|_| unanswered()).collect();
    prober.probe(&questions, &mut |number, answer| {
        if let Some(place) = answers.get_mut(number) {
            *place = answer;
        }
        ControlFlow::Continue(())
    });
    for (at, answer) in asked.into_iter().zip(answers) {
        let Ok(wish) = &mut wishes[at] else { continue };
        let trouble = answer.failure;
        if let Err(reason) = promise(&mut wish.expectation, answer.observed, fixed) {
            wishes[at] = Err(AddError::Answer { url: wish.added.url.clone(), reason, trouble });
        }
    }
}

/// Makes an expectation from a response. Returns the reason if that is impossible.
fn promise(expectation: &mut Expectation, observed: Observed, fixed: bool) -> Result<(), String> {
    if let Some(reason) = observed.error {
        return Err(reason);
    }
    let status = observed.status.ok_or("there was no answer")?;
    if status >= 400 || (fixed && !(200..300).contains(&status)) {
        return Err(format!("HTTP {status}"));
    }
    expectation.media_type = match observed.first_redirect() {
        Some(status) if !fixed => Some(format!("X-{status}-Redirect")),
        _ => media_type(&observed),
    };
    if fixed {
        let whole = observed.length.zip(observed.sha256);
        let (length, sha256) = whole.ok_or("the content was not read to its end")?;
        (expectation.length, expectation.sha256) = (Some(length), Some(sha256));
    }
    Ok(())
}

/// The media type without its parameters.
fn media_type(observed: &Observed) -> Option<String> {
    let essence = observed.media_type.as_deref()?.split(';').next()?.trim();
    (!essence.is_empty()).then(|| essence.to_owned())
}
