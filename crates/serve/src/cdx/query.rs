//! What is asked, read from the query.

use regex::{Regex, RegexBuilder};
use varve_archive::Moment;

use super::row::Row;
use crate::request::Request;

/// More lines than this are never asked for at once.
const MOST: u64 = 10_000_000;
/// The memory that an expression may take.
const EXPRESSION: usize = 1 << 20;
/// Captures of a block: as many lines as one of a ZipNum index usually has.
pub(crate) const BLOCK: u64 = 3000;
/// Blocks of a page, unless another number is asked for.
const PAGE: u64 = 10;
/// No page has more.
const MOST_BLOCKS: u64 = 1000;
/// More filters than this are refused.
const FILTERS: usize = 16;

/// What is asked.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) url: String,
    pub(crate) scope: Scope,
    pub(crate) from: Option<Moment>,
    pub(crate) to: Option<Moment>,
    pub(crate) limit: u64,
    /// The page, where only one is wanted.
    pub(crate) page: Option<Paging>,
    /// Only how many pages there are is wanted.
    pub(crate) count_pages: bool,
    pub(crate) sort: Sort,
    pub(crate) filters: Vec<Filter>,
    /// Which fields, in order; empty for those that `output` has.
    pub(crate) fields: Vec<String>,
    pub(crate) output: Output,
}

/// One page of what is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paging {
    /// Which, from 0.
    pub(crate) number: u64,
    /// How many blocks a page has.
    pub(crate) blocks: u64,
}

impl Default for Paging {
    fn default() -> Self {
        Self { number: 0, blocks: PAGE }
    }
}

impl Paging {
    /// How many captures are before it, and how many up to its end.
    pub(crate) fn captures(&self) -> (u64, u64) {
        let size = self.blocks * BLOCK;
        let first = self.number.saturating_mul(size);
        (first, first.saturating_add(size))
    }

    /// How many pages so many captures are.
    pub(crate) fn pages_of(&self, captures: u64) -> u64 {
        captures.div_ceil(self.blocks * BLOCK)
    }
}

/// Which URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Exact,
    Prefix,
    Host,
    Domain,
}

/// In which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    OldestFirst,
    NewestFirst,
    Closest(Moment),
}

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Cdxj,
    Json,
    Text,
}

/// A condition on a field.
#[derive(Debug)]
pub(crate) struct Filter {
    field: String,
    test: Test,
    negated: bool,
}

#[derive(Debug)]
enum Test {
    Contains(String),
    Is(String),
    Matches(Regex),
}

impl Query {
    /// Reads the parameters; what is wrong with one is said.
    pub(crate) fn read(request: &Request) -> Result<Self, String> {
        let asked = request.parameter("url").ok_or("`url` is missing")?;
        let (url, implied) = scoped(&asked);
        let scope = match request.parameter("matchType").as_deref() {
            None => implied,
            Some("exact") => Scope::Exact,
            Some("prefix") => Scope::Prefix,
            Some("host") => Scope::Host,
            Some("domain") => Scope::Domain,
            Some(_) => return Err("`matchType` is exact, prefix, host or domain".to_owned()),
        };
        let limit = match request.parameter("limit") {
            None => MOST,
            Some(limit) => limit.parse::<u64>().map_err(|_| "`limit` is a number")?.min(MOST),
        };
        let fields = request.parameter("fl").or_else(|| request.parameter("fields")).unwrap_or_default();
        Ok(Self {
            url,
            scope,
            from: time(request, "from", least)?,
            to: time(request, "to", most)?,
            limit,
            page: paging(request)?,
            count_pages: request.parameter("showNumPages").as_deref() == Some("true"),
            sort: sort(request)?,
            filters: filters(request)?,
            fields: fields.split(',').filter(|field| !field.is_empty()).map(str::to_owned).collect(),
            output: output(request)?,
        })
    }
}

fn scoped(url: &str) -> (String, Scope) {
    if let Some(domain) = url.strip_prefix("*.") {
        return (domain.to_owned(), Scope::Domain);
    }
    match url.strip_suffix('*') {
        Some(prefix) => (prefix.to_owned(), Scope::Prefix),
        None => (url.to_owned(), Scope::Exact),
    }
}

fn paging(request: &Request) -> Result<Option<Paging>, String> {
    let number = |name: &str| {
        let text = request.parameter(name).filter(|text| !text.is_empty());
        text.map(|text| text.parse::<u64>().map_err(|_| format!("`{name}` is a number"))).transpose()
    };
    let (page, blocks) = (number("page")?, number("pageSize")?);
    if blocks.is_some_and(|blocks| !(1..=MOST_BLOCKS).contains(&blocks)) {
        return Err(format!("`pageSize` is from 1 to {MOST_BLOCKS}"));
    }
    let is_paged = page.is_some() || blocks.is_some();
    Ok(is_paged.then(|| Paging { number: page.unwrap_or(0), blocks: blocks.unwrap_or(PAGE) }))
}

fn sort(request: &Request) -> Result<Sort, String> {
    let closest = time(request, "closest", least)?;
    match (request.parameter("sort").as_deref(), closest) {
        (Some("closest"), None) => Err("`sort=closest` needs `closest`".to_owned()),
        (Some("closest") | None, Some(time)) => Ok(Sort::Closest(time)),
        (Some("reverse"), _) => Ok(Sort::NewestFirst),
        (None | Some("default"), _) => Ok(Sort::OldestFirst),
        _ => Err("`sort` is default, reverse or closest".to_owned()),
    }
}

fn output(request: &Request) -> Result<Output, String> {
    match request.parameter("output").as_deref() {
        None | Some("cdxj") => Ok(Output::Cdxj),
        Some("json") => Ok(Output::Json),
        Some("text") => Ok(Output::Text),
        Some(_) => Err("`output` is cdxj, json or text".to_owned()),
    }
}

fn filters(request: &Request) -> Result<Vec<Filter>, String> {
    let texts: Vec<_> = request.parameters("filter").filter(|text| !text.is_empty()).collect();
    if texts.len() > FILTERS {
        return Err(format!("at most {FILTERS} filters are taken"));
    }
    texts.iter().map(|text| Filter::read(text)).collect()
}

/// Digits, and what those that are left out are taken for.
fn time(request: &Request, name: &str, fill: fn(&str) -> Option<Moment>) -> Result<Option<Moment>, String> {
    let Some(text) = request.parameter(name) else { return Ok(None) };
    match fill(&text) {
        Some(time) => Ok(Some(time)),
        None => Err(format!("`{name}` is a time in 4 to 14 digits")),
    }
}

fn least(digits: &str) -> Option<Moment> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// The last instant that the digits can mean.
fn most(digits: &str) -> Option<Moment> {
    let first = least(digits)?;
    let utc = first.utc();
    let next = match digits.len() {
        4 => utc.checked_add_months(chrono::Months::new(12))?,
        6 => utc.checked_add_months(chrono::Months::new(1))?,
        8 => utc + chrono::TimeDelta::days(1),
        10 => utc + chrono::TimeDelta::hours(1),
        12 => utc + chrono::TimeDelta::minutes(1),
        _ => utc + chrono::TimeDelta::seconds(1),
    };
    Some(Moment::from_micros(Moment::from(next).micros().saturating_sub(1)))
}

impl Filter {
    fn read(text: &str) -> Result<Self, String> {
        let (negated, text) = text.strip_prefix('!').map_or((false, text), |text| (true, text));
        let (kind, text) = match text.chars().next() {
            Some(kind @ ('=' | '~')) => (Some(kind), &text[1..]),
            _ => (None, text),
        };
        let (field, value) = text.split_once(':').ok_or("a filter is [!][=|~]field:expression")?;
        let test = match kind {
            Some('=') => Test::Is(value.to_owned()),
            Some(_) => {
                let expression = RegexBuilder::new(&format!("^(?:{value})$")).size_limit(EXPRESSION).build();
                Test::Matches(expression.map_err(|_| format!("`{value}` is not an expression"))?)
            }
            None => Test::Contains(value.to_owned()),
        };
        Ok(Self { field: field.to_owned(), test, negated })
    }

    /// Whether a row passes.
    pub(crate) fn holds(&self, row: &Row<'_>) -> bool {
        let value = row.field(&self.field).unwrap_or_default();
        let found = match &self.test {
            Test::Contains(text) => value.contains(text.as_str()),
            Test::Is(text) => value == *text,
            Test::Matches(expression) => expression.is_match(&value),
        };
        found != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<Query, String> {
        let request = http::Request::get(format!("/cdx?{text}")).body(()).unwrap();
        Query::read(&Request::of(request.into_parts().0))
    }

    #[test]
    fn urls_say_their_scope() {
        let scope = |text: &str| query(text).map(|query| (query.url, query.scope)).unwrap();
        assert_eq!(scope("url=http://h/a"), ("http://h/a".into(), Scope::Exact));
        assert_eq!(scope("url=http://h/a*"), ("http://h/a".into(), Scope::Prefix));
        assert_eq!(scope("url=*.h.example"), ("h.example".into(), Scope::Domain));
        assert_eq!(scope("url=http%3A%2F%2Fh%2F&matchType=host"), ("http://h/".into(), Scope::Host));
    }

    #[test]
    fn times_reach_to_their_ends() {
        let read = query("url=h&from=2025&to=202502").unwrap();
        assert_eq!(read.from.unwrap().to_string(), "2025-01-01T00:00:00Z");
        assert_eq!(read.to.unwrap().to_string(), "2025-02-28T23:59:59.999999Z");
    }

    #[test]
    fn mistakes_are_told() {
        for wrong in [
            "",
            "url=",
            "url=h&limit=x",
            "url=h&from=1",
            "url=h&sort=x",
            "url=h&sort=closest",
            "url=h&output=xml",
            "url=h&matchType=x",
            "url=h&filter=x",
            "url=h&page=-1",
            "url=h&page=x",
            "url=h&pageSize=0",
            "url=h&pageSize=1001",
            "url=h&filter=~a:(",
        ] {
            assert!(query(wrong).is_err(), "{wrong}");
        }
        assert!(query(&format!("url=h&filter=~a:{}", "(a{1000}){1000}")).is_err());
    }
}
