//! `urls check`: holds the live web against what is expected of it.
//!
//! A failure is asked again in a pass of its own before it counts. Verdicts come in the order of the files, whatever the
//! order of the answers.

use std::collections::BTreeMap;

use super::list::{Filter, files};
use crate::expectations::report::Checked;
use crate::expectations::{
    DomainFile, Expectation, Loaded, Observed, Prober, Question, UrlDatabase, UrlsError, Verdict, judge,
};

/// What is checked, and how.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Which expectations.
    pub filter: Filter,
    /// Hosts that stand in for others: asked at the second, for what the file says of the first.
    pub map: Vec<(String, String)>,
    /// Every alias is asked as well.
    pub cnames: bool,
    /// How many more passes there are for what failed.
    pub retries: u32,
}

/// One URL to be checked.
struct Case {
    expectation: Expectation,
    checked: Checked,
}

/// Checks all that is asked for; `each` is told the verdicts in order.
pub fn check<E: From<UrlsError>>(
    database: &UrlDatabase,
    request: &Request,
    prober: &dyn Prober,
    mut each: impl FnMut(Checked) -> Result<(), E>,
) -> Result<(), E> {
    let loaded = files(database, &request.filter)?;
    known(&request.map, &loaded)?;
    let cases: Vec<Case> = loaded.iter().flat_map(|loaded| cases(loaded, request)).collect();
    let mut verdicts = BTreeMap::new();
    // What is not asked needs no answer to be judged.
    let mut waiting: Vec<usize> = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        match judge(&case.expectation, &Observed::default()) {
            skipped @ Verdict::Skipped(_) => drop(verdicts.insert(number, (skipped, None))),
            _ => waiting.push(number),
        }
    }
    for _ in 0..=request.retries {
        ask(&cases, &waiting, prober, &mut verdicts);
        waiting.retain(|number| verdicts.get(number).is_none_or(|(verdict, _)| verdict.is_failure()));
        if waiting.is_empty() {
            break;
        }
    }
    for (number, case) in cases.into_iter().enumerate() {
        let unanswered = || (Verdict::Unreachable("the question was not answered".to_owned()), None);
        let (verdict, status) = verdicts.remove(&number).unwrap_or_else(unanswered);
        each(Checked { verdict, status, ..case.checked })?;
    }
    Ok(())
}

/// A host that is mapped must be one: a slip of the pen would check the wrong machine and call it fine.
fn known(map: &[(String, String)], files: &[Loaded]) -> Result<(), UrlsError> {
    let is_known = |host: &str| files.iter().any(|loaded| loaded.file.name == host);
    match map.iter().find(|(host, _)| !is_known(host)) {
        Some((host, _)) => Err(UrlsError::UnknownDomain { host: host.clone() }),
        None => Ok(()),
    }
}

fn ask(
    cases: &[Case],
    waiting: &[usize],
    prober: &dyn Prober,
    verdicts: &mut BTreeMap<usize, (Verdict, Option<u16>)>,
) {
    let question = |number: &usize| {
        let case = &cases[*number];
        Question::about(&case.expectation, case.checked.url.clone())
    };
    let questions: Vec<Question> = waiting.iter().map(question).collect();
    prober.probe(&questions, &mut |at, observed| {
        let Some(number) = waiting.get(at) else { return };
        let verdict = judge(&cases[*number].expectation, &observed);
        verdicts.insert(*number, (verdict, observed.status));
    });
}

fn cases<'a>(loaded: &'a Loaded, request: &'a Request) -> impl Iterator<Item = Case> + 'a {
    let hosts = hosts(&loaded.file, request);
    let records = loaded.file.records.iter().enumerate();
    records.filter(|(_, record)| request.filter.takes(record)).flat_map(move |(number, record)| {
        let place = loaded.file.place(number);
        let case = |host: &&str| Case {
            expectation: record.clone(),
            checked: Checked {
                url: loaded.file.url_at(host, record),
                verdict: Verdict::Met,
                status: None,
                since: None,
                capture: None,
                file: Some(loaded.path.clone()),
                line: place.map(|place| place.line),
            },
        };
        hosts.iter().map(case).collect::<Vec<_>>()
    })
}

/// Where the URLs of a domain are asked.
fn hosts<'a>(file: &'a DomainFile, request: &'a Request) -> Vec<&'a str> {
    let mapped = request.map.iter().find(|(host, _)| *host == file.name);
    if let Some((_, other)) = mapped {
        return vec![other];
    }
    let mut hosts = vec![file.name.as_str()];
    if request.cnames {
        hosts.extend(file.domain.cnames().iter().map(String::as_str));
    }
    hosts
}
