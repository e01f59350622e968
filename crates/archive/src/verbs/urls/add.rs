//! `urls add`: promises that a URL answers as it answers now.

use std::path::PathBuf;

use crate::expectations::{
    Expectation, Follow, Loaded, Observed, Prober, Question, Target, UrlDatabase, UrlsError,
};

/// How a URL is added.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Its content is never to change: length and digest are recorded.
    pub fixed: bool,
    /// Its categories.
    pub categories: Vec<String>,
    /// A domain that no file speaks of gets one.
    pub new_domain: bool,
}

/// What was added.
#[derive(Clone, Debug)]
pub struct Added {
    /// The URL, in the spelling of the database.
    pub url: String,
    /// The file that has it.
    pub path: PathBuf,
    /// Whether it was not there before. If it was, nothing has changed.
    pub new: bool,
    /// Whether the file was not there before.
    pub new_domain: bool,
    /// Whether `http` was taken for the scheme that was not given.
    pub assumed_http: bool,
}

/// Adds one URL. Without a prober only its path is recorded.
pub fn add(
    database: &UrlDatabase,
    url: &str,
    request: &Request,
    prober: Option<&dyn Prober>,
    on_loss: super::OnLoss<'_>,
) -> Result<Added, UrlsError> {
    let target = Target::parse(url)?;
    let loaded = file_for(database, &target, url, request)?;
    let path = target.path_in(&loaded.file);
    let mut added = Added {
        url: loaded.file.url(&Expectation::new(&path)),
        new: loaded.file.find(&path).is_none(),
        new_domain: loaded.text.is_none(),
        path: loaded.path,
        assumed_http: target.assumed_http,
    };
    if !added.new {
        return Ok(added);
    }
    let mut expectation = Expectation { categories: request.categories.clone(), ..Expectation::new(path) };
    if let Some(prober) = prober {
        learn(&mut expectation, &added.url, request.fixed, prober)?;
    }
    // The web may be slow, and the file may be another by now.
    let _editing = database.edit()?;
    let mut loaded = file_for(database, &target, url, request)?;
    added.new = loaded.file.find(&expectation.path).is_none();
    if added.new {
        loaded.file.insert(expectation);
        super::save(database, &loaded, on_loss)?;
    }
    Ok(added)
}

fn file_for(
    database: &UrlDatabase,
    target: &Target,
    url: &str,
    request: &Request,
) -> Result<Loaded, UrlsError> {
    match database.find(target) {
        Err(UrlsError::UnknownDomain { host }) if request.new_domain => {
            let mut loaded = database.new_file(&host)?;
            let secure = url.trim_start().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:"));
            loaded.file.domain.https = secure.then_some(true);
            Ok(loaded)
        }
        result => result,
    }
}

/// Records what the URL answers now.
fn learn(
    expectation: &mut Expectation,
    url: &str,
    fixed: bool,
    prober: &dyn Prober,
) -> Result<(), UrlsError> {
    let follow = if fixed { Follow::Redirects } else { Follow::First };
    let observed = prober.probe_one(Question { url: url.to_owned(), follow, content: fixed }).observed;
    let refuse = |reason: String| UrlsError::Answer { url: url.to_owned(), reason };
    if let Some(reason) = observed.error {
        return Err(refuse(reason));
    }
    let status = observed.status.ok_or_else(|| refuse("there was no answer".to_owned()))?;
    if status >= 400 || (fixed && !(200..300).contains(&status)) {
        return Err(refuse(format!("HTTP {status}")));
    }
    expectation.media_type = match observed.first_redirect() {
        Some(status) if !fixed => Some(format!("X-{status}-Redirect")),
        _ => media_type(&observed),
    };
    if fixed {
        let whole = observed.length.zip(observed.sha256);
        let (length, sha256) =
            whole.ok_or_else(|| refuse("the content was not read to its end".to_owned()))?;
        (expectation.length, expectation.sha256) = (Some(length), Some(sha256));
    }
    Ok(())
}

/// The type without its parameters.
fn media_type(observed: &Observed) -> Option<String> {
    let essence = observed.media_type.as_deref()?.split(';').next()?.trim();
    (!essence.is_empty()).then(|| essence.to_owned())
}
