//! What a browser brings besides the page: what the page asked for, the document its scripts left, and a picture.
//!
//! The document is a `conversion` of the answer. The picture is an object like any other, so that a page that looks as it
//! did takes no room again; a `metadata` record about the answer says which two belong to it. Links that only scripts
//! have made are in the document, so it is read for links as well.

use serde::Serialize;
use varve_core::exchange::Exchange;
use varve_core::headers::Headers;
use varve_fetch::{Rendering, RenderingKind};
use varve_store::NewObject;
use varve_store::exchange::NewConversion;
use varve_warc::date::Date;
use varve_warc::write::Packer;

use super::address::host_of;
use super::errand::Errand;
use super::keeper::{Keeping, Material, Outcome};
use super::past::Past;
use super::plan::Lead;
use super::run::Crawl;
use super::task::Task;
use crate::error::ArchiveError;
use crate::history::HistoryWriter;

/// The media type of what says which renderings belong to an answer.
const RENDERINGS: &str = "application/vnd.varve.renderings+json";

/// Which renderings belong to an answer, by their ids.
#[derive(Default, Serialize)]
struct Renderings {
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    screenshot: Option<String>,
}

impl Keeping<'_> {
    /// Keeps what a browser made of an answer, and follows what is in it.
    pub(super) fn keep_renderings(
        &self,
        task: &Task,
        outcome: &mut Outcome,
        renderings: &[Rendering],
        packer: &mut Packer,
    ) -> Result<(), ArchiveError> {
        let Some(record) = outcome.receipt.as_ref().map(|receipt| receipt.record) else { return Ok(()) };
        if renderings.is_empty() {
            return Ok(());
        }
        let store = self.history.writer().store();
        let date = Date::from_instant(self.history.now().utc());
        let mut kept = Renderings::default();
        for rendering in renderings {
            match rendering.kind {
                RenderingKind::Document => {
                    let conversion = NewConversion {
                        of: record,
                        url: &rendering.url,
                        date,
                        media_type: &rendering.media_type,
                        content: &rendering.content,
                        run: Some(self.run),
                    };
                    let id = self.keeper.keep_conversion(packer, &conversion)?;
                    kept.document = Some(id.to_string());
                    self.follow_document(task, rendering, outcome);
                }
                RenderingKind::Screenshot => {
                    let object = new_object(date, &rendering.media_type, None);
                    let stored = store.store_bytes(packer, &object, &rendering.content)?;
                    kept.screenshot = Some(varve_core::RecordId::new(stored.id).to_string());
                }
            }
        }
        let json = serde_json::to_vec(&kept).expect("ids can be written as JSON");
        store.store_bytes(packer, &new_object(date, RENDERINGS, Some(record.to_string())), &json)?;
        Ok(())
    }

    /// The document is where the answer is, wherever scripts say they are.
    fn follow_document(&self, task: &Task, document: &Rendering, outcome: &mut Outcome) {
        let mut headers = Headers::new();
        headers.push("Content-Type", document.media_type.as_str());
        let (leads, _) = self.read(task, (outcome.status, &headers), &mut document.content.as_slice());
        let known: std::collections::HashSet<Lead> = outcome.leads.iter().cloned().collect();
        outcome.leads.extend(leads.into_iter().filter(|lead| !known.contains(lead)));
    }
}

fn new_object(date: Date, media_type: &str, refers_to: Option<String>) -> NewObject {
    NewObject { date, content_type: media_type.to_owned(), refers_to, known: None }
}

impl Crawl<'_> {
    /// Takes what a browser asked for besides the page itself. What this run has already is not kept twice, and what is
    /// no plain question is not the capture of a URL.
    pub(super) fn take_others(&mut self, exchanges: Vec<Exchange>) -> Result<(), ArchiveError> {
        for exchange in exchanges.into_iter().filter(|exchange| exchange.request.starts_with(b"GET ")) {
            let url = exchange.url.clone();
            let errand = Errand::Embed { chain: 1 };
            let plan = self.around.plan;
            let unwanted = plan.unplanned(errand, &url).is_some() || plan.scope.excludes(&url).is_some();
            if unwanted || self.busy.contains(&url) || self.fresh.contains(&url) {
                continue;
            }
            let earlier = match self.around.destination.past(self.around.run, &url)? {
                Past::ThisRun(_) => continue,
                Past::Earlier(earlier) => Some(earlier),
                Past::Nothing => None,
            };
            if let Some(address) = self.around.plan.address(&url) {
                // Another spelling of it need not be asked for again.
                self.known.note(&Lead { url: address, errand, redirect: false });
            }
            let host = host_of(&url).to_owned();
            let task =
                Task { no: None, url, host, errand, redirects: 0, earlier, origin: None, counts: false };
            self.went_out(&task);
            self.busy.insert(task.url.clone());
            self.give(task, Material::Fresh(Box::new(exchange), Vec::new()));
        }
        Ok(())
    }
}
