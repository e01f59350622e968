//! `store`: keeps bytes that did not come from the web, and says their ids.
//!
//! An id is given out only when its object is safe from a power cut: by default the files of a group share one sync,
//! because a sync costs more than a thousand small objects do.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use varve_store::StoredObject;
use varve_warc::write::Packer;

use crate::error::ArchiveError;
use varve_repository::archive::without_brackets;
use varve_repository::archive_writer::ArchiveWriter;
use varve_repository::content::{ContentDescription, store_file, store_reader};
use varve_repository::media_type;
use varve_repository::ordered_workers::{WorkerCount, run_in_order};

pub use varve_repository::content::StoredContent;

/// So many files share a sync at most: what a crash in between makes one store again.
const OBJECTS_PER_SYNC: usize = 1000;

/// So many files are given to a thread at a time.
const OBJECTS_PER_BATCH: usize = 16;

/// Where bytes come from.
pub enum NewObjectSource {
    /// A file of that name.
    File(PathBuf),
    /// Something that can be read once.
    Stream(Box<dyn Read + Send>),
}

/// When an object is made safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Together with others.
    #[default]
    Batch,
    /// Each for itself, before the next of its thread is begun.
    Each,
}

/// How to store.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The media type; guessed from the name of the file when there is none.
    pub media_type: Option<String>,
    /// What the content is metadata about: an id of this archive or its beginning, or any other URI.
    /// None for content that stands for itself.
    pub refers_to: Option<String>,
    /// When each is safe.
    pub sync: SyncPolicy,
    /// How many threads pack.
    pub threads: usize,
}

/// Stores each source and hands what became of it to `each`, in order and once it is safe.
///
/// A source that cannot be read is reported in its turn and ends nothing; a failing archive ends all.
pub fn store(
    writer: &ArchiveWriter,
    request: &Request,
    sources: impl Iterator<Item = NewObjectSource>,
    progress: &(dyn Fn(u64) + std::marker::Sync),
    mut each: impl FnMut(usize, Result<StoredContent, ArchiveError>) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let job = StoreJob::new(writer, request, progress)?;
    let mut group: Vec<Result<StoredObject, ArchiveError>> = Vec::new();
    let mut number = 0;
    let mut release = |group: &mut Vec<Result<StoredObject, ArchiveError>>| {
        if request.sync == SyncPolicy::Batch {
            writer.store().sync()?;
        }
        for result in group.drain(..) {
            each(number, result.map(|stored| StoredContent::from(&stored)))?;
            number += 1;
        }
        Ok::<(), ArchiveError>(())
    };
    // Who waits for each id is told of it at once.
    let together = if request.sync == SyncPolicy::Each { 1 } else { OBJECTS_PER_BATCH };
    run_in_order(
        WorkerCount { threads: request.threads, together },
        sources,
        || job.worker(),
        |result| match result {
            Err(error) if error.is_fatal() => Err(error),
            result => {
                group.push(result);
                let is_full = group.len() >= OBJECTS_PER_SYNC || request.sync == SyncPolicy::Each;
                if is_full { release(&mut group) } else { Ok(()) }
            }
        },
    )?;
    release(&mut group)
}

/// What all workers share.
struct StoreJob<'a> {
    writer: &'a ArchiveWriter,
    media_type: Option<&'a str>,
    refers_to: Option<String>,
    sync: SyncPolicy,
    progress: &'a (dyn Fn(u64) + std::marker::Sync),
}

impl<'a> StoreJob<'a> {
    fn new(
        writer: &'a ArchiveWriter,
        request: &'a Request,
        progress: &'a (dyn Fn(u64) + std::marker::Sync),
    ) -> Result<Self, ArchiveError> {
        let media_type = request.media_type.as_deref();
        if let Some(text) = media_type.filter(|text| !media_type::is_media_type(text)) {
            return Err(ArchiveError::MediaType { text: text.to_owned() });
        }
        let refers_to = request.refers_to.as_deref().map(|text| referent(writer, text)).transpose()?;
        Ok(Self { writer, media_type, refers_to, sync: request.sync, progress })
    }

    fn worker(&self) -> impl FnMut(NewObjectSource) -> Result<StoredObject, ArchiveError> {
        let mut packer = None;
        move |source| {
            let packer = match &mut packer {
                Some(packer) => packer,
                none => none.insert(self.writer.store().packer()?),
            };
            let stored = self.store(packer, source)?;
            if self.sync == SyncPolicy::Each {
                self.writer.store().wait(stored.ticket)?;
            }
            Ok(stored)
        }
    }

    fn store(&self, packer: &mut Packer, source: NewObjectSource) -> Result<StoredObject, ArchiveError> {
        match source {
            NewObjectSource::Stream(mut content) => {
                Ok(store_reader(self.writer, packer, &self.about(media_type::OCTET_STREAM), &mut content)?)
            }
            NewObjectSource::File(path) => {
                let file = open(&path)?;
                let about = self.about(media_type::of_name(&path));
                Ok(store_file(self.writer, packer, &about, (&file, &path), self.progress)?)
            }
        }
    }

    fn about(&self, guess: &str) -> ContentDescription {
        ContentDescription {
            date: self.writer.now(),
            media_type: self.media_type.unwrap_or(guess).to_owned(),
            refers_to: self.refers_to.clone(),
        }
    }
}

/// What metadata is about, as its record names it. An id must be that of something here: a typing error would be kept
/// for ever.
fn referent(writer: &ArchiveWriter, text: &str) -> Result<String, ArchiveError> {
    let text = without_brackets(text);
    let is_other_uri = text.contains(':') && !text.to_ascii_lowercase().starts_with("urn:sha256:");
    // They would end the field, or the brackets around its value.
    let is_unfit = |character: char| matches!(character, '<' | '>') || character.is_control();
    if is_other_uri && text.contains(is_unfit) {
        return Err(ArchiveError::Reference { text: text.to_owned() });
    }
    if is_other_uri { Ok(text.to_owned()) } else { Ok(writer.resolve(text)?.to_string()) }
}

fn open(path: &Path) -> Result<File, ArchiveError> {
    let file = File::open(path).map_err(ArchiveError::read(path))?;
    if file.metadata().map_err(ArchiveError::read(path))?.is_dir() {
        return Err(ArchiveError::Folder { path: path.to_owned() });
    }
    Ok(file)
}
