//! The ancestors of a version, as a short list of lines, and the events of a page in them.
//!
//! An event is a capture of the page, or an absence. Events are read from the newest on, so the
//! state of a page costs as much as the events until the page is found.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::VersionId;
use varve_core::history::{FoldedPresence, Presence, PresenceFold};
use varve_sqlite::column::blob_id;
use varve_sqlite::{SqlResult, collect_rows};

/// The position of a version in its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinePosition {
    pub(super) line: i64,
    pub(super) sequence: i64,
}

/// A version and all its ancestors.
pub(super) struct Ancestry<'a> {
    connection: &'a Connection,
    /// The number of the version.
    pub(super) owner: i64,
    /// For each line, the last position that belongs to it.
    pub(super) lines: HashMap<i64, i64>,
    /// For owners that were looked up, the id of the version if it belongs to the ancestry.
    known: RefCell<HashMap<i64, Option<VersionId>>>,
    /// Whether the catalog has any absence.
    pub(super) has_absences: bool,
    /// Whether the catalog has any hidden page.
    pub(super) has_hidden_pages: bool,
}

/// One event of a page.
#[derive(Clone, Debug)]
pub(super) struct PageEvent {
    pub(super) owner: i64,
    pub(super) version: VersionId,
    pub(super) time: i64,
    /// The number of the capture, if it is one.
    pub(super) capture: Option<i64>,
    pub(super) url_no: i64,
    pub(super) says: Presence,
}

impl PageEvent {
    /// The order of events: a later one is greater.
    fn order(&self) -> (i64, i64, Option<i64>) {
        (self.owner, self.time, self.capture)
    }
}

/// The folded events of a page, with captures by their numbers.
pub(super) struct FoldedPage {
    pub(super) presence: Presence,
    pub(super) said_by: VersionId,
    pub(super) capture: Option<i64>,
    pub(super) evidence: Option<i64>,
    /// The URL of the capture, otherwise of the event that decides.
    pub(super) url_no: i64,
}

impl<'a> Ancestry<'a> {
    /// The ancestry of a version. `None` if the version does not exist.
    pub(super) fn of(connection: &'a Connection, version: &VersionId) -> SqlResult<Option<Self>> {
        let sql = "SELECT no, line, sequence FROM owners WHERE id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_row([version.as_bytes()], |row| {
            Ok((row.get(0)?, LinePosition { line: row.get(1)?, sequence: row.get(2)? }))
        });
        let Some((owner, position)) = found.optional()? else { return Ok(None) };
        Self::at(connection, owner, Some(position)).map(Some)
    }

    /// The ancestry of the version at a position, or an empty one.
    pub(super) fn at(
        connection: &'a Connection,
        owner: i64,
        position: Option<LinePosition>,
    ) -> SqlResult<Self> {
        let exists = |table: &str| -> SqlResult<bool> {
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {table})");
            Ok(connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))?)
        };
        Ok(Self {
            connection,
            owner,
            lines: lines_before(connection, position)?,
            known: RefCell::default(),
            has_absences: exists("absences")?,
            has_hidden_pages: exists("hidden_pages")?,
        })
    }

    /// The id of a version, if it belongs to the ancestry.
    pub(super) fn version(&self, owner: i64) -> SqlResult<Option<VersionId>> {
        if let Some(known) = self.known.borrow().get(&owner) {
            return Ok(*known);
        }
        let sql = "SELECT id, line, sequence FROM owners WHERE no = ?1 AND line IS NOT NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([owner])?;
        let found = match rows.next()? {
            Some(row) => {
                let (line, sequence): (i64, i64) = (row.get(1)?, row.get(2)?);
                let is_in = self.lines.get(&line).is_some_and(|last| sequence <= *last);
                blob_id(row, 0, "owners")?.filter(|_| is_in)
            }
            None => None,
        };
        self.known.borrow_mut().insert(owner, found);
        Ok(found)
    }

    /// Calls `visit` with the events of a page, newest first, until it returns false. `url_nos` are
    /// the rows of its spellings.
    pub(super) fn each_event(
        &self,
        url_nos: &[i64],
        visit: &mut dyn FnMut(PageEvent) -> SqlResult<bool>,
    ) -> SqlResult<()> {
        if let [url_no] = url_nos {
            return self.each_event_of_url(*url_no, visit);
        }
        let mut events = Vec::new();
        for url_no in url_nos {
            self.each_event_of_url(*url_no, &mut |event| {
                events.push(event);
                Ok(true)
            })?;
        }
        let urls = self.texts(url_nos)?;
        events.sort_by_cached_key(|event| Reverse((event.order(), urls.get(&event.url_no).cloned())));
        for event in events {
            if !visit(event)? {
                break;
            }
        }
        Ok(())
    }

    fn texts(&self, url_nos: &[i64]) -> SqlResult<HashMap<i64, String>> {
        let mut statement = self.connection.prepare_cached("SELECT url FROM page_urls WHERE no = ?1")?;
        let mut texts = HashMap::new();
        for url_no in url_nos {
            texts.insert(*url_no, statement.query_row([url_no], |row| row.get(0))?);
        }
        Ok(texts)
    }

    /// The events of one spelling, newest first.
    fn each_event_of_url(
        &self,
        url_no: i64,
        visit: &mut dyn FnMut(PageEvent) -> SqlResult<bool>,
    ) -> SqlResult<()> {
        let mut absences = if self.has_absences { self.absences(url_no)? } else { Vec::new() };
        let sql = "SELECT owner_no, time, no, status FROM captures INDEXED BY captures_by_event
            WHERE url_no = ?1 AND owner_no <= ?2 ORDER BY owner_no DESC, time DESC, no DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([url_no, self.owner])?;
        while let Some(row) = rows.next()? {
            let Some(event) = self.capture_event(url_no, row)? else { continue };
            while absences.last().is_some_and(|absence: &PageEvent| absence.order() > event.order()) {
                let absence = absences.pop();
                if let Some(absence) = absence
                    && !visit(absence)?
                {
                    return Ok(());
                }
            }
            if !visit(event)? {
                return Ok(());
            }
        }
        while let Some(absence) = absences.pop() {
            if !visit(absence)? {
                break;
            }
        }
        Ok(())
    }

    fn capture_event(&self, url_no: i64, row: &Row<'_>) -> SqlResult<Option<PageEvent>> {
        let owner = row.get(0)?;
        let Some(version) = self.version(owner)? else { return Ok(None) };
        let says = Presence::of_status(row.get(3)?);
        Ok(Some(PageEvent { owner, version, time: row.get(1)?, capture: Some(row.get(2)?), url_no, says }))
    }

    /// The absences of one spelling, oldest first.
    fn absences(&self, url_no: i64) -> SqlResult<Vec<PageEvent>> {
        let sql = "SELECT owner_no, time, reason FROM absences WHERE url_no = ?1 AND owner_no <= ?2 ORDER BY owner_no";
        let read = |row: &Row<'_>| {
            let owner = row.get(0)?;
            let Some(version) = self.version(owner)? else { return Ok(None) };
            let reason: Option<String> = row.get(2)?;
            let says = reason.map_or(Presence::Gone, |reason| Presence::Unreachable { reason });
            Ok(Some(PageEvent { owner, version, time: row.get(1)?, capture: None, url_no, says }))
        };
        Ok(collect_rows(self.connection, sql, [url_no, self.owner], read)?.into_iter().flatten().collect())
    }

    /// The state of a page, without reading its captures. `None` if the ancestry says nothing about
    /// it.
    pub(super) fn fold(&self, url_nos: &[i64]) -> SqlResult<Option<FoldedPage>> {
        let mut fold = PresenceFold::default();
        let mut folded = None;
        self.each_event(url_nos, &mut |event| {
            folded = fold.add(event.says, event.version, (event.capture, event.url_no));
            Ok(folded.is_none())
        })?;
        Ok(folded.or_else(|| fold.finish()).map(|folded| {
            let FoldedPresence { presence, capture, said_by, evidence } = folded;
            let url_no = capture.or(evidence).map_or(0, |(_, url_no)| url_no);
            let [capture, evidence] = [capture, evidence].map(|event| event.and_then(|(capture, _)| capture));
            FoldedPage { presence, said_by, capture, evidence, url_no }
        }))
    }

    /// The rows of all spellings of a page, given its first and whether there are others.
    pub(super) fn spellings(&self, page_no: i64, has_others: bool) -> SqlResult<Vec<i64>> {
        if !has_others {
            return Ok(vec![page_no]);
        }
        let sql = "SELECT no FROM page_urls WHERE page_no = ?1";
        let mut url_nos: Vec<i64> = collect_rows(self.connection, sql, [page_no], |row| Ok(row.get(0)?))?;
        url_nos.push(page_no);
        Ok(url_nos)
    }
}

/// For each line that leads to a position, the last position that belongs to it.
pub(super) fn lines_before(
    connection: &Connection,
    position: Option<LinePosition>,
) -> SqlResult<HashMap<i64, i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT base_line, base_sequence FROM lines WHERE no = ?1 AND base_line IS NOT NULL",
    )?;
    let mut lines = HashMap::new();
    let mut next = position;
    while let Some(LinePosition { line, sequence }) = next {
        if lines.insert(line, sequence).is_some() {
            break;
        }
        let read = |row: &Row<'_>| Ok(LinePosition { line: row.get(0)?, sequence: row.get(1)? });
        next = statement.query_row(params![line], read).optional()?;
    }
    Ok(lines)
}
