//! `store`: stores bytes that did not come from the web, and returns their ids.
//!
//! An id is returned only once its object would survive a power failure. By default the files of a
//! batch share one sync, because a sync costs more than a thousand small objects.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use varve_store::StoredObject;
use varve_store::record::record_uri;
use varve_warc::write::{Packer, RecordUri};

use crate::error::ArchiveError;
use varve_repository::archive::without_brackets;
use varve_repository::archive_writer::ArchiveWriter;
use varve_repository::content::{ContentDescription, store_file, store_reader};
use varve_repository::media_type;
use varve_repository::ordered_workers::{WorkerCount, run_in_order};

pub use varve_repository::content::StoredContent;

/// Maximum number of files per sync. After a crash, the user must store at most this many again.
const OBJECTS_PER_SYNC: usize = 1000;

/// Number of files that a thread takes at a time.
const OBJECTS_PER_BATCH: usize = 16;

/// The source of an object's bytes.
pub enum NewObjectSource {
    /// A file with this path.
    File(PathBuf),
    /// A stream that can be read once.
    Stream(Box<dyn Read + Send>),
}

/// When an object is synced to disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Together with others.
    #[default]
    Batch,
    /// Each on its own, before its thread begins the next.
    Each,
}

/// The options of a store.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The media type; default: guessed from the file name.
    pub media_type: Option<String>,
    /// What the content is metadata about: an id of this archive or a prefix of one, or any other
    /// URI. `None` for content that is not metadata.
    pub refers_to: Option<String>,
    /// When each object is synced.
    pub sync: SyncPolicy,
    /// Number of threads that pack.
    pub threads: usize,
}

/// Stores each source and passes its result to `each`, in order and once it is durable.
///
/// A source that cannot be read is reported in its turn, and the others continue. An error of the
/// archive ends the operation.
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
    // With one sync per object, the caller waits for each id, so batches have one object.
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

/// The state that all workers share.
struct StoreJob<'a> {
    writer: &'a ArchiveWriter,
    media_type: Option<&'a str>,
    refers_to: Option<RecordUri>,
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
            return Err(ArchiveError::MediaType(text.to_owned()));
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

/// Resolves what metadata is about to the form used in its record. An id must exist in this
/// archive, because a typing error would be stored permanently.
fn referent(writer: &ArchiveWriter, text: &str) -> Result<RecordUri, ArchiveError> {
    let text = without_brackets(text);
    let is_other_uri = text.contains(':') && !text.to_ascii_lowercase().starts_with("urn:sha256:");
    if !is_other_uri {
        return Ok(record_uri(&writer.resolve(text)?));
    }
    // Brackets would end those around the value of the field.
    let uri = text.parse().ok().filter(|_| !text.contains(['<', '>']));
    uri.ok_or_else(|| ArchiveError::Reference(text.to_owned()))
}

fn open(path: &Path) -> Result<File, ArchiveError> {
    let file = File::open(path).map_err(ArchiveError::read(path))?;
    if file.metadata().map_err(ArchiveError::read(path))?.is_dir() {
        return Err(ArchiveError::Folder(path.to_owned()));
    }
    Ok(file)
}
