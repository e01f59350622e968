//! Prints extracted pages, for people or as JSON.

use varve_archive::pages::{ExtractedPage, PageError};

use crate::error::Error;
use crate::printer::{FAINT_STYLE, STRONG_STYLE, visible};
use crate::session::Session;

/// Prints one page after another.
pub(in crate::commands) struct PagePrinter {
    /// Whether pages are printed as JSON.
    pub(in crate::commands) json: bool,
    /// Whether a page could not be read.
    pub(in crate::commands) failed: bool,
    /// Whether nothing was printed yet.
    pub(in crate::commands) is_first: bool,
}

impl PagePrinter {
    /// Prints a page, or why it could not be read. `name` is the URL or file that was asked for.
    pub(in crate::commands) fn print(
        &mut self,
        session: &mut Session,
        name: &str,
        page: Result<ExtractedPage, PageError>,
    ) -> Result<(), Error> {
        self.failed |= page.is_err();
        if self.json {
            let page = page.unwrap_or_else(|error| error.into_page(name));
            return session.printer.json(&page);
        }
        match page {
            Ok(page) => self.print_text(session, &page),
            Err(error) => {
                let partial = error.page().cloned();
                session.printer.report(&Error::Page(error));
                match partial.filter(|page| page.title.is_some() || page.content_text.is_some()) {
                    Some(page) => self.print_text(session, &page),
                    None => Ok(()),
                }
            }
        }
    }

    fn print_text(&mut self, session: &mut Session, page: &ExtractedPage) -> Result<(), Error> {
        let printer = &mut session.printer;
        if !std::mem::take(&mut self.is_first) {
            printer.line("")?;
        }
        let title = page.title.as_deref().unwrap_or(&page.url);
        printer.line(format_args!("{STRONG_STYLE}{}{STRONG_STYLE:#}", visible(title)))?;
        for (label, value) in fields_of(page) {
            printer.line(format_args!("{FAINT_STYLE}{label}:{FAINT_STYLE:#} {}", visible(&value)))?;
        }
        let content = [&page.content_html, &page.content_markdown, &page.content_text];
        if let Some(content) = content.into_iter().flatten().next() {
            printer.line("")?;
            for line in content.lines() {
                printer.line(visible(line))?;
            }
        }
        Ok(())
    }
}

/// The fields of a page that people look at, with their labels.
fn fields_of(page: &ExtractedPage) -> Vec<(&'static str, String)> {
    let list = |values: &[String]| Some(values.join(", ")).filter(|values| !values.is_empty());
    let fields = [
        ("url", Some(page.url.clone()).filter(|url| !url.is_empty() && page.title.is_some())),
        ("authors", list(&page.authors)),
        ("date", page.date.map(|date| date.day.to_string())),
        ("site", page.sitename.clone()),
        ("description", page.description.clone()),
        ("categories", list(&page.categories)),
        ("tags", list(&page.tags)),
        ("language", page.language.clone()),
        ("license", page.license.clone()),
    ];
    fields.into_iter().filter_map(|(label, value)| Some((label, value?))).collect()
}
