//! Expectations written by users: the records of a URL database.

use serde_json::{Value, json};
use varve_core::history::Capture;

use super::check_history::observed_of;
use super::{CheckCase, CheckTarget, Judgement};
use crate::expectations::report::CheckedUrl;
use crate::expectations::{
    DomainFile, DomainHead, Expectation, Loaded, Observed, ProbeRequest, ProbeResponse, UrlDatabase,
    UrlsError, Verdict, judge,
};
use crate::verbs::urls::check::Request;
use crate::verbs::urls::list::files;

/// A record, and the URL at which it is checked.
struct ExpectedUrl {
    expectation: Expectation,
    url: String,
}

impl CheckTarget for ExpectedUrl {
    fn probe_request(&self) -> Result<ProbeRequest, Verdict> {
        // A skipped record is judged without a request.
        let without_answer = judge(&self.expectation, &Observed::default());
        if matches!(without_answer, Verdict::Skipped(_)) {
            return Err(without_answer);
        }
        // Appended to a host, such a path would change the host name.
        if !self.expectation.is_below_host() {
            return Err(Verdict::Unreachable("the `_path` of its record does not begin with `/`".to_owned()));
        }
        Ok(ProbeRequest::about(&self.expectation, self.url.clone()))
    }

    fn judge(&self, answer: &ProbeResponse) -> Judgement {
        Judgement { verdict: judge(&self.expectation, &answer.observed), comparison: None }
    }

    fn accepts(&self, capture: &Capture) -> bool {
        !capture.truncated && judge(&self.expectation, &observed_of(capture)) == Verdict::Ok
    }

    fn expectation_json(&self) -> Value {
        let Expectation { path, media_type, length, sha256, categories, .. } = &self.expectation;
        let mut told = json!({ "path": path });
        if let Some(media_type) = media_type {
            told["content-type"] = json!(media_type);
        }
        if let Some(length) = length {
            told["content-length"] = json!(length);
        }
        if let Some(sha256) = sha256 {
            told["content-sha256"] = json!(sha256.to_string());
        }
        if !categories.is_empty() {
            told["categories"] = json!(categories);
        }
        told
    }
}

/// All cases that a request selects, in the order of the files.
pub(crate) fn expected_cases(
    database: &UrlDatabase,
    request: &Request,
) -> Result<Vec<CheckCase<'static>>, UrlsError> {
    known(request, database)?;
    let loaded = files(database, &request.filter)?;
    Ok(loaded.iter().flat_map(|loaded| cases(loaded, request)).collect())
}

/// Requires every mapped host to be one that is checked. A typing error would otherwise check the
/// wrong server and report success.
fn known(request: &Request, database: &UrlDatabase) -> Result<(), UrlsError> {
    for (host, _) in &request.map {
        if database.names(host)? {
            continue;
        }
        let has = |head: &DomainHead| head.file.domain.cnames().contains(host);
        match database.heads()?.iter().any(has) {
            true if request.cnames => {}
            true => return Err(UrlsError::AliasNotAsked { host: host.clone() }),
            false => return Err(UrlsError::UnknownDomain { host: host.clone() }),
        }
    }
    Ok(())
}

fn cases(loaded: &Loaded, request: &Request) -> Vec<CheckCase<'static>> {
    let hosts = hosts(&loaded.file, request);
    let mut cases = Vec::new();
    for (number, record) in loaded.file.records.iter().enumerate() {
        if !request.filter.takes(record) {
            continue;
        }
        let line = loaded.file.place(number).map(|place| place.line);
        for host in &hosts {
            let url = loaded.file.url_at(host, record);
            let checked = CheckedUrl { file: Some(loaded.path.clone()), line, ..CheckedUrl::new(&url) };
            let target = Box::new(ExpectedUrl { expectation: record.clone(), url });
            cases.push(CheckCase { target, checked });
        }
    }
    cases
}

/// The hosts at which the URLs of a domain are requested: its own name and, with `cnames`, each
/// alias. A mapped host replaces the name or alias it stands for. No host is listed twice.
fn hosts<'a>(file: &'a DomainFile, request: &'a Request) -> Vec<&'a str> {
    let aliases = if request.cnames { file.domain.cnames() } else { &[] };
    let mut hosts = Vec::new();
    for name in std::iter::once(&file.name).chain(aliases) {
        let mapped = request.map.iter().find(|(host, _)| host == name);
        let host = mapped.map_or(name.as_str(), |(_, other)| other);
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}
