//! Stores the bodies of a commit on all cores, and sorts its pages.
//!
//! Files of a folder are looked up in the cache of its last commit. Where the parent is that commit,
//! a file that did not change is a page that did not change, and nothing is held or read for it.

use std::cell::RefCell;
use std::path::PathBuf;

use varve_core::Moment;
use varve_core::body::StoredBody;
use varve_core::fact::ManifestPage;
use varve_core::headers::{HeaderView, Redaction};
use varve_repository::RepositoryError;
use varve_repository::history::{BodyInput, BodyWorker, CommittedPage, CommittedPages, HistoryWriter};
use varve_repository::media_type::OCTET_STREAM;
use varve_repository::ordered_workers::{WorkerCount, together_in_order};
use varve_repository::page_path::{in_site, page_path};
use varve_repository::seen_files::{
    SeenFile, SeenFiles, SeenFilesWriter, open_file, unchanged_bodies, watch,
};

use super::folder::{FolderSource, FolderWalk};
use super::new_page::{CONTENT_TYPE_HEADER, NewBody, NewPage, media_type_of, refuse_long_page};
use super::{Request, SkippedFile};
use crate::error::ArchiveError;

/// Number of pages that a thread takes at a time.
const PAGES_PER_BATCH: usize = 64;

/// The pages of a commit whose bodies are stored.
#[derive(Default)]
pub(super) struct StoredPages {
    /// The pages that are not known to be as in the parent's state.
    pub(super) pages: CommittedPages,
    /// The number of all pages.
    pub(super) count: u64,
    /// The number of pages that are known to be as in the parent's state.
    pub(super) known: u64,
    /// The entries of the folder that are not pages.
    pub(super) left_out: Vec<SkippedFile>,
}

/// What all workers know.
pub(super) struct PageStorage<'a> {
    pub(super) history: &'a HistoryWriter,
    pub(super) request: &'a Request,
    /// Whether headers are redacted. A site would read its database for each page.
    pub(super) redaction: Redaction,
    /// The time of the commit.
    pub(super) now: Moment,
    pub(super) progress: &'a (dyn Fn(u64) + Sync),
}

/// The files of a folder, and those of its last commit.
pub(super) struct FolderFiles<'a> {
    pub(super) source: &'a FolderSource,
    pub(super) seen: SeenFiles,
    /// Whether the parent is the last commit of the folder.
    pub(super) is_parent: bool,
}

/// A file of a folder, with what is known of it.
struct FolderFile {
    name: PathBuf,
    seen: Option<SeenFile>,
}

/// What became of a file.
enum StoredFile {
    /// Its page is as in the parent's state.
    Known(SeenFile),
    /// It is a page that may be new.
    Page(Box<ManifestPage>, SeenFile),
}

impl PageStorage<'_> {
    /// Stores the bodies of a list of pages.
    pub(super) fn store_list(&self, pages: Vec<NewPage>) -> Result<StoredPages, ArchiveError> {
        let mut done = StoredPages::default();
        let worker = || {
            let mut keep = self.history.body_worker();
            move |pages: Vec<NewPage>| {
                pages.into_iter().map(|page| self.store_page(&mut keep, page)).collect::<Vec<_>>()
            }
        };
        together_in_order(self.workers(), pages.into_iter(), worker, |page| {
            done.pages.add(CommittedPage::Page(page?))?;
            done.count += 1;
            (self.progress)(1);
            Ok::<(), ArchiveError>(())
        })?;
        Ok(done)
    }

    /// Stores the bodies of files that changed, and records all files for the next commit.
    pub(super) fn store_folder(
        &self,
        files: FolderFiles<'_>,
        record: &mut SeenFilesWriter,
    ) -> Result<StoredPages, ArchiveError> {
        let FolderFiles { source, seen, is_parent } = files;
        let mut walk = FolderWalk::new(&source.folder)?;
        let (done, failure) = (RefCell::new(StoredPages::default()), RefCell::new(None));
        let mut beside =
            FilesBeside { source, seen, has_passed_missing: is_parent && self.request.covers.is_some() };
        let jobs = std::iter::from_fn(|| {
            let found = beside.next(&mut walk, &mut done.borrow_mut().pages);
            found.unwrap_or_else(|error| {
                failure.replace(Some(error));
                None
            })
        });
        let now = record.now();
        let worker = || {
            let mut keep = self.history.body_worker();
            move |files: Vec<FolderFile>| self.store_files(&mut keep, (source, is_parent, now), files)
        };
        together_in_order(self.workers(), jobs, worker, |stored| {
            let mut done = done.borrow_mut();
            let seen = match stored? {
                StoredFile::Known(seen) => {
                    done.known += 1;
                    seen
                }
                StoredFile::Page(page, seen) => {
                    done.pages.add(CommittedPage::Page(*page))?;
                    seen
                }
            };
            record.add(&seen);
            done.count += 1;
            (self.progress)(1);
            Ok::<(), ArchiveError>(())
        })?;
        match failure.into_inner() {
            Some(error) => Err(error),
            None => Ok(StoredPages { left_out: walk.left_out, ..done.into_inner() }),
        }
    }

    fn workers(&self) -> WorkerCount {
        WorkerCount { threads: self.request.threads, together: PAGES_PER_BATCH }
    }

    /// One result for each file, up to the first error.
    fn store_files(
        &self,
        keep: &mut BodyWorker<'_>,
        (source, is_parent, now): (&FolderSource, bool, i128),
        files: Vec<FolderFile>,
    ) -> Vec<Result<StoredFile, ArchiveError>> {
        let paths: Vec<PathBuf> = files.iter().map(|file| source.folder.join(&file.name)).collect();
        let asked = paths.iter().zip(&files);
        let asked: Vec<_> = asked.map(|(path, file)| (path.as_path(), file.seen.as_ref())).collect();
        let known = match self.request.read_all {
            true => Ok(vec![None; files.len()]),
            false => unchanged_bodies(self.history, &asked),
        };
        let known = match known {
            Ok(known) => known,
            Err(error) => return vec![Err(error.into())],
        };
        let files = files.into_iter().zip(paths).zip(known);
        let stored = files.map(|((FolderFile { name, seen }, path), body)| match (seen, body) {
            (Some(seen), Some(_)) if is_parent => Ok(StoredFile::Known(seen)),
            (seen, body) => self.store_file(keep, (source, now), (name, path), body.zip(seen)),
        });
        stored.collect()
    }

    fn store_file(
        &self,
        keep: &mut BodyWorker<'_>,
        (source, now): (&FolderSource, i128),
        (name, path): (PathBuf, PathBuf),
        known: Option<(StoredBody, SeenFile)>,
    ) -> Result<StoredFile, ArchiveError> {
        let url = source.url_of(&name)?;
        let (status, headers) = (source.status, source.headers.clone());
        let mut page = NewPage { url, time: None, status, headers, body: NewBody::File(path.clone()) };
        refuse_long_page(&page, self.request.largest)?;
        let media_type = settle_media_type(&mut page);
        let (body, seen) = match known {
            Some(known) => known,
            None => watch((&path, name), now, |file| keep(BodyInput::File(file, &path), &media_type))?,
        };
        Ok(StoredFile::Page(Box::new(self.page_of(page, body)), seen))
    }

    fn store_page(&self, keep: &mut BodyWorker<'_>, mut page: NewPage) -> Result<ManifestPage, ArchiveError> {
        let media_type = settle_media_type(&mut page);
        let body = match &page.body {
            NewBody::Bytes(bytes) => keep(BodyInput::Bytes(bytes), &media_type)?,
            NewBody::File(path) => keep(BodyInput::File(open_file(path)?, path), &media_type)?,
        };
        Ok(self.page_of(page, body))
    }

    fn page_of(&self, page: NewPage, body: StoredBody) -> ManifestPage {
        let path = page_path(&page.url);
        let has_tree = self.history.working_tree().is_some();
        ManifestPage {
            path: if has_tree { in_site(&path).into_owned() } else { path },
            url: page.url,
            time: page.time.map_or(self.now, |time| self.history.stored_time(time)),
            status: page.status,
            headers: HeaderView::of(&page.headers, self.redaction),
            body: body.id,
            length: body.length,
            record: None,
            truncated: false,
        }
    }
}

/// The media type of a page. If its headers do not say one, they get that of its name, as a server
/// would send it.
fn settle_media_type(page: &mut NewPage) -> String {
    let media_type = media_type_of(page);
    if page.headers.get_text(CONTENT_TYPE_HEADER).is_none() && media_type != OCTET_STREAM {
        page.headers.push("Content-Type", media_type.as_str());
    }
    media_type
}

/// Reads the files of a folder beside those of its last commit.
struct FilesBeside<'a> {
    source: &'a FolderSource,
    seen: SeenFiles,
    /// Whether the pages of missing files were passed on.
    has_passed_missing: bool,
}

impl FilesBeside<'_> {
    fn next(
        &mut self,
        walk: &mut FolderWalk,
        pages: &mut CommittedPages,
    ) -> Result<Option<FolderFile>, ArchiveError> {
        let name = walk.next().transpose()?;
        while let Some(missing) = self.seen.next_before(name.as_deref()) {
            if self.has_passed_missing {
                pages.add(self.missing_page(&missing)?)?;
            }
        }
        Ok(name.map(|name| FolderFile { seen: self.seen.next_with(&name), name }))
    }

    fn missing_page(&self, missing: &SeenFile) -> Result<CommittedPage, ArchiveError> {
        let url = self.source.url_of(missing.name())?;
        let path = page_path(&url);
        Ok(CommittedPage::Missing { url, path })
    }
}

/// The pages of a commit, by path and URL, each URL once.
pub(super) fn without_duplicates(
    pages: impl Iterator<Item = Result<CommittedPage, RepositoryError>>,
    duplicate: &mut Option<String>,
) -> impl Iterator<Item = Result<CommittedPage, RepositoryError>> {
    let mut last: Option<String> = None;
    pages.map_while(move |page| {
        if let Ok(CommittedPage::Page(page)) = &page {
            if last.as_ref() == Some(&page.url) {
                *duplicate = last.take();
                return None;
            }
            last = Some(page.url.clone());
        }
        Some(page)
    })
}
