//! The captures of what pages embed: images, style sheets, scripts, frames, and what those embed.

use std::collections::HashSet;

use varve_catalog::UrlMatch;
use varve_core::history::Capture;
use varve_core::url::page_identity;
use varve_page::links::{LinkFormat, LinkLimits, LinkRole, PageLink, extract};
use varve_repository::history::HistoryReader;

use super::selection::{ExportScope, shown};
use crate::error::ArchiveError;
use crate::verbs::plan::suggest::captured_headers;

/// How deep resources embed others: a page, a frame, a style sheet, an imported one, an image.
const MAX_EMBEDDING_DEPTH: usize = 5;
/// Maximum number of resources of one export.
const MAX_RESOURCES: usize = 50_000;

/// Finds the resources of pages, each once.
#[derive(Default)]
pub(super) struct PageResources {
    /// The identities of pages and resources that were passed on.
    seen: HashSet<String>,
}

impl PageResources {
    /// Passes a page on, unless it was passed on before, and then what it embeds.
    pub(super) fn each(
        &mut self,
        history: &HistoryReader,
        scope: ExportScope,
        page: Capture,
        each: &mut dyn FnMut(Capture) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut level = vec![page];
        for _ in 0..=MAX_EMBEDDING_DEPTH {
            let mut embedded = Vec::new();
            for capture in std::mem::take(&mut level) {
                let identity = page_identity(&capture.url).unwrap_or_else(|| capture.url.clone());
                // The captures of a page in several versions are all exported.
                if self.seen.len() >= MAX_RESOURCES {
                    return Ok(());
                }
                if self.seen.insert(identity) {
                    embedded.extend(embedded_urls(history, &capture)?);
                }
                each(capture)?;
            }
            embedded.retain(|url| !page_identity(url).is_some_and(|identity| self.seen.contains(&identity)));
            embedded.sort_unstable();
            embedded.dedup();
            level = captures_of(history, scope, &embedded)?;
        }
        Ok(())
    }
}

/// The URLs that a capture embeds or redirects to. A body that cannot be read has none: exporting it
/// reports why.
fn embedded_urls(history: &HistoryReader, capture: &Capture) -> Result<Vec<String>, ArchiveError> {
    let headers = captured_headers(history, capture)?;
    let format = LinkFormat::of(headers.get_text("content-type").as_deref(), &capture.url);
    let Ok(body) = history.open_body(capture) else { return Ok(Vec::new()) };
    let mut urls = Vec::new();
    let mut take = |link: PageLink<'_>| {
        if matches!(link.role, LinkRole::Embed | LinkRole::Redirect) && urls.len() < MAX_RESOURCES {
            urls.push(link.target);
        }
    };
    // Links found before a damaged body ends are used.
    let _ = extract(format, &capture.url, &headers, body, LinkLimits::default(), &mut take);
    Ok(urls)
}

/// The captures of URLs that the scope shows. What was not captured is left out.
fn captures_of(
    history: &HistoryReader,
    scope: ExportScope,
    urls: &[String],
) -> Result<Vec<Capture>, ArchiveError> {
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let catalog = history.catalog();
    Ok(match scope {
        ExportScope::State(version) | ExportScope::Captures(version) => {
            let pages = catalog.states_of(&version, &urls, UrlMatch::SamePage)?;
            pages.into_iter().flatten().filter_map(shown).collect()
        }
        ExportScope::Ever => {
            let newest = catalog.newest_captures(&urls, UrlMatch::SamePage, 1)?;
            newest.into_iter().flatten().collect()
        }
    })
}
