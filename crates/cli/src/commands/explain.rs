//! `varve explain`: shows every rule that applies to a URL, and what it changes.

use varve_archive::verbs::explain::{
    Alias, Aliases, AtSign, ExplainStep, Explained, Explanation, GroupPattern, add_lookup, explain,
};

use super::extract::is_archive;
use crate::printer::{FAINT_STYLE, Printer, STRONG_STYLE, visible};
use crate::url_arguments;
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Show each rule that applies to a URL, and what it changes
///
/// The rules come in families: parsing, the lookup key, cleaning, normalising, sort orders of
/// indexes, aliases and groups. Within a family each rule starts from the result of the previous
/// one; each family starts from the given URL. A rule that cannot be applied says why. User name
/// and password in a URL are not shown. In an archive, the last rule is the one that finds captures of
/// the URL: the URL itself, another spelling of the page, or a page that declared it as its canonical
/// URL.
///
/// With `--json`, prints one object per URL: `url`, and `steps` with `rule`, `explanation`,
/// `before`, `after` and `changed`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve explain 'HTTP://Example.com:80/a/../b?utm_source=news&a=1#top'
  varve explain https://example.com/2024/05/ --pattern 'https://example.com/#/**'
  varve explain https://old.example/x --alias https://old.example/=https://new.example/
  varve explain --json - < urls.txt")]
pub(super) struct ExplainArgs {
    /// The URLs; `-` reads them from standard input, one per line
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,

    /// Replace the prefix FROM by TO; the first alias that matches applies
    #[arg(long = "alias", value_name = "FROM=TO", value_parser = alias)]
    aliases: Vec<Alias>,

    /// Show whether the URL matches this group: `*` is any text within a segment, `**` any text,
    /// `#` a number
    #[arg(long = "pattern", value_name = "PATTERN")]
    patterns: Vec<String>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for ExplainArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let aliases = Aliases(self.aliases);
        let groups: Vec<_> =
            self.patterns.iter().map(|text| GroupPattern::new(text, AtSign::Literal)).collect();
        let history = if is_archive(session)? { Some(session.open_reader()?) } else { None };
        let mut first = true;
        url_arguments::for_each_url(self.urls, &mut session.printer, |url, printer| {
            let Explained { mut explanation, refusal } = explain(url, &aliases, &groups);
            if let Some(history) = &history {
                add_lookup(history, &mut explanation)?;
            }
            if self.json {
                printer.json(&explanation)?;
                return Ok(refusal);
            }
            if !std::mem::take(&mut first) {
                printer.line("")?;
            }
            print(&explanation, printer)?;
            Ok(refusal)
        })
    }
}

/// Prints the URL and its rules, with a blank line before each family.
pub(super) fn print(explanation: &Explanation, printer: &mut Printer) -> Result<(), Error> {
    printer.line(format_args!("{STRONG_STYLE}{}{STRONG_STYLE:#}", visible(&explanation.url)))?;
    let width = explanation.steps.iter().map(|step| step.rule.len()).max().unwrap_or(0);
    let mut last = None;
    for step in &explanation.steps {
        let family = step.rule.split_once('/').map(|(family, _)| family);
        if last != Some(family) {
            printer.line("")?;
            last = Some(family);
        }
        print_step(step, width, printer)?;
    }
    Ok(())
}

fn print_step(step: &ExplainStep, width: usize, printer: &mut Printer) -> Result<(), Error> {
    let ExplainStep { rule, explanation, after, changed, .. } = step;
    let explanation = visible(explanation);
    if *changed {
        printer.line(format_args!("  {STRONG_STYLE}{rule:<width$}{STRONG_STYLE:#}  {explanation}"))?;
        return printer.line(format_args!("  {:<width$}  = {}", "", visible(after)));
    }
    // Where the explanation is enough, or the rule could not be applied, nothing could change.
    let says_it_all =
        matches!(rule.as_str(), "group" | "alias" | "lookup/exact" | "lookup/none" | "lookup/unconfirmed")
            || explanation.contains(": refused, ");
    let unchanged = if says_it_all { "" } else { "changes nothing: " };
    printer.line(format_args!("  {FAINT_STYLE}{rule:<width$}  {unchanged}{explanation}{FAINT_STYLE:#}"))
}

/// Parses `FROM=TO`. Both may contain `=`, so the one before a scheme is preferred.
fn alias(text: &str) -> Result<Alias, &'static str> {
    let cuts = || text.match_indices('=').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let before_scheme =
        cuts().find(|(_, to)| to.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)));
    match before_scheme.or_else(|| cuts().next()) {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            Ok(Alias { source: from.to_owned(), target: to.to_owned(), external: false })
        }
        _ => Err("an alias is two prefixes with `=` between them"),
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_cut_where_the_second_url_begins() {
        let cut = |text| alias(text).map(|alias| (alias.source, alias.target));
        let pair = |from: &str, to: &str| Ok((from.to_owned(), to.to_owned()));
        assert_eq!(cut("https://a/=https://b/"), pair("https://a/", "https://b/"));
        assert_eq!(cut("https://a/?x=1=https://b/?y=2"), pair("https://a/?x=1", "https://b/?y=2"));
        assert_eq!(cut("/a/=/b/=c"), pair("/a/", "/b/=c"));
        assert!(cut("https://a/").is_err() && cut("=https://b/").is_err() && cut("https://a/=").is_err());
    }
}
