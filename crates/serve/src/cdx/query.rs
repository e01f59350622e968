//! The parameters of a CDX request.

use http::request::Parts;
use regex::{Regex, RegexBuilder};
use varve_archive::Moment;
use varve_core::secret::ShownUrl;

use super::line::CdxLine;
use crate::request::RequestParts;

/// Maximum of `limit`, and its default.
const MAX_LINES: u64 = 10_000_000;
/// Memory that a regular expression may take.
const MAX_EXPRESSION_BYTES: usize = 1 << 20;
/// Captures in a block: the usual number of lines in a block of a ZipNum index.
pub(crate) const BLOCK_CAPTURES: u64 = 3000;
/// Default of `pageSize`.
const DEFAULT_PAGE_BLOCKS: u64 = 10;
/// Maximum of `pageSize`.
const MAX_PAGE_BLOCKS: u64 = 1000;
/// Requests with more filters are refused.
const MAX_FILTERS: usize = 16;

/// A CDX request.
#[derive(Debug)]
pub(crate) struct CdxQuery {
    pub(crate) url: String,
    pub(crate) scope: UrlScope,
    pub(crate) from: Option<Moment>,
    pub(crate) to: Option<Moment>,
    pub(crate) limit: u64,
    /// The page, if only one is requested.
    pub(crate) page: Option<PageRange>,
    /// Only the number of pages is requested.
    pub(crate) count_pages: bool,
    pub(crate) sort: CdxOrder,
    pub(crate) filters: Vec<FieldFilter>,
    /// The requested fields, in order; empty for the default fields of `output`.
    pub(crate) fields: Vec<String>,
    pub(crate) output: CdxOutput,
}

/// One page of the matching captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageRange {
    /// Its number, from 0.
    pub(crate) number: u64,
    /// Blocks in a page.
    pub(crate) blocks: u64,
}

impl Default for PageRange {
    fn default() -> Self {
        Self { number: 0, blocks: DEFAULT_PAGE_BLOCKS }
    }
}

impl PageRange {
    /// How many captures are before the page, and how many up to its end.
    pub(crate) fn captures(&self) -> (u64, u64) {
        let size = self.blocks * BLOCK_CAPTURES;
        let first = self.number.saturating_mul(size);
        (first, first.saturating_add(size))
    }

    /// The number of pages for this number of captures.
    pub(crate) fn page_count(&self, captures: u64) -> u64 {
        captures.div_ceil(self.blocks * BLOCK_CAPTURES)
    }
}

/// Which URLs match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlScope {
    Exact,
    Prefix,
    Host,
    Domain,
}

/// The order of captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CdxOrder {
    OldestFirst,
    NewestFirst,
    Closest(Moment),
}

/// The format of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CdxOutput {
    Cdxj,
    Json,
    Text,
}

/// A condition on a field.
#[derive(Debug)]
pub(crate) struct FieldFilter {
    field: String,
    test: FieldTest,
    negated: bool,
}

#[derive(Debug)]
enum FieldTest {
    Contains(String),
    Is(String),
    Matches(Regex),
}

impl CdxQuery {
    /// Parses the parameters. The error is a message for the client.
    pub(crate) fn parse(request: &Parts) -> Result<Self, String> {
        let asked = request.parameter("url").ok_or("`url` is missing")?;
        if ShownUrl(&asked).has_user_info() {
            return Err("`url` contains a user name or a password".to_owned());
        }
        let (url, implied) = split_scope(&asked);
        let scope = match request.parameter("matchType").as_deref() {
            None => implied,
            Some("exact") => UrlScope::Exact,
            Some("prefix") => UrlScope::Prefix,
            Some("host") => UrlScope::Host,
            Some("domain") => UrlScope::Domain,
            Some(_) => return Err("`matchType` must be exact, prefix, host or domain".to_owned()),
        };
        let limit = match request.parameter("limit") {
            None => MAX_LINES,
            Some(limit) => limit.parse::<u64>().map_err(|_| "`limit` must be a number")?.min(MAX_LINES),
        };
        let fields = request.parameter("fl").or_else(|| request.parameter("fields")).unwrap_or_default();
        Ok(Self {
            url,
            scope,
            from: time(request, "from", earliest)?,
            to: time(request, "to", latest)?,
            limit,
            page: page_range(request)?,
            count_pages: request.parameter("showNumPages").as_deref() == Some("true"),
            sort: sort(request)?,
            filters: filters(request)?,
            fields: fields.split(',').filter(|field| !field.is_empty()).map(str::to_owned).collect(),
            output: output(request)?,
        })
    }
}

fn split_scope(url: &str) -> (String, UrlScope) {
    if let Some(domain) = url.strip_prefix("*.") {
        return (domain.to_owned(), UrlScope::Domain);
    }
    match url.strip_suffix('*') {
        Some(prefix) => (prefix.to_owned(), UrlScope::Prefix),
        None => (url.to_owned(), UrlScope::Exact),
    }
}

fn page_range(request: &Parts) -> Result<Option<PageRange>, String> {
    let number = |name: &str| {
        let text = request.parameter(name).filter(|text| !text.is_empty());
        text.map(|text| text.parse::<u64>().map_err(|_| format!("`{name}` must be a number"))).transpose()
    };
    let (page, blocks) = (number("page")?, number("pageSize")?);
    if blocks.is_some_and(|blocks| !(1..=MAX_PAGE_BLOCKS).contains(&blocks)) {
        return Err(format!("`pageSize` must be from 1 to {MAX_PAGE_BLOCKS}"));
    }
    let is_paged = page.is_some() || blocks.is_some();
    Ok(is_paged
        .then(|| PageRange { number: page.unwrap_or(0), blocks: blocks.unwrap_or(DEFAULT_PAGE_BLOCKS) }))
}

fn sort(request: &Parts) -> Result<CdxOrder, String> {
    let closest = time(request, "closest", earliest)?;
    match (request.parameter("sort").as_deref(), closest) {
        (Some("closest"), None) => Err("`sort=closest` needs `closest`".to_owned()),
        (Some("closest") | None, Some(time)) => Ok(CdxOrder::Closest(time)),
        (Some("reverse"), _) => Ok(CdxOrder::NewestFirst),
        (None | Some("default"), _) => Ok(CdxOrder::OldestFirst),
        _ => Err("`sort` must be default, reverse or closest".to_owned()),
    }
}

fn output(request: &Parts) -> Result<CdxOutput, String> {
    match request.parameter("output").as_deref() {
        None | Some("cdxj") => Ok(CdxOutput::Cdxj),
        Some("json") => Ok(CdxOutput::Json),
        Some("text") => Ok(CdxOutput::Text),
        Some(_) => Err("`output` must be cdxj, json or text".to_owned()),
    }
}

fn filters(request: &Parts) -> Result<Vec<FieldFilter>, String> {
    let texts: Vec<_> = request.parameters("filter").filter(|text| !text.is_empty()).collect();
    if texts.len() > MAX_FILTERS {
        return Err(format!("at latest {MAX_FILTERS} filters are taken"));
    }
    texts.iter().map(|text| FieldFilter::parse(text)).collect()
}

/// Parses a time. `fill` completes the digits that are left out.
fn time(request: &Parts, name: &str, fill: fn(&str) -> Option<Moment>) -> Result<Option<Moment>, String> {
    let Some(text) = request.parameter(name) else { return Ok(None) };
    match fill(&text) {
        Some(time) => Ok(Some(time)),
        None => Err(format!("`{name}` must be a time in 4 to 14 digits")),
    }
}

fn earliest(digits: &str) -> Option<Moment> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// The last moment that the digits can mean.
fn latest(digits: &str) -> Option<Moment> {
    let first = earliest(digits)?;
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

impl FieldFilter {
    fn parse(text: &str) -> Result<Self, String> {
        let (negated, text) = text.strip_prefix('!').map_or((false, text), |text| (true, text));
        let (kind, text) = match text.chars().next() {
            Some(kind @ ('=' | '~')) => (Some(kind), &text[1..]),
            _ => (None, text),
        };
        let (field, value) = text.split_once(':').ok_or("a filter must be [!][=|~]field:expression")?;
        let test = match kind {
            Some('=') => FieldTest::Is(value.to_owned()),
            Some(_) => {
                let expression =
                    RegexBuilder::new(&format!("^(?:{value})$")).size_limit(MAX_EXPRESSION_BYTES).build();
                FieldTest::Matches(
                    expression.map_err(|_| format!("`{value}` is not a valid regular expression"))?,
                )
            }
            None => FieldTest::Contains(value.to_owned()),
        };
        Ok(Self { field: field.to_owned(), test, negated })
    }

    /// Whether a line passes.
    pub(crate) fn accepts(&self, line: &CdxLine<'_>) -> bool {
        let value = line.field(&self.field).unwrap_or_default();
        let found = match &self.test {
            FieldTest::Contains(text) => value.contains(text.as_str()),
            FieldTest::Is(text) => value == *text,
            FieldTest::Matches(expression) => expression.is_match(&value),
        };
        found != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<CdxQuery, String> {
        let request = http::Request::get(format!("/cdx?{text}")).body(()).unwrap();
        CdxQuery::parse(&request.into_parts().0)
    }

    #[test]
    fn the_url_implies_a_scope() {
        let scope = |text: &str| query(text).map(|query| (query.url, query.scope)).unwrap();
        assert_eq!(scope("url=http://h/a"), ("http://h/a".into(), UrlScope::Exact));
        assert_eq!(scope("url=http://h/a*"), ("http://h/a".into(), UrlScope::Prefix));
        assert_eq!(scope("url=*.h.example"), ("h.example".into(), UrlScope::Domain));
        assert_eq!(scope("url=http%3A%2F%2Fh%2F&matchType=host"), ("http://h/".into(), UrlScope::Host));
    }

    #[test]
    fn times_cover_the_omitted_digits() {
        let read = query("url=h&from=2025&to=202502").unwrap();
        assert_eq!(read.from.unwrap().to_string(), "2025-01-01T00:00:00Z");
        assert_eq!(read.to.unwrap().to_string(), "2025-02-28T23:59:59.999999Z");
    }

    #[test]
    fn invalid_parameters_are_refused() {
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
