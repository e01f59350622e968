//! `export --format warc` of a Crystal project: writes every revision as a record, in order.
//!
//! A response becomes a `response`, and a 304 a `revisit` of the response it stands for. A failure
//! becomes `metadata` about its URL, and non-HTTP content a `resource`. There are no request
//! records, so that no cookie that was sent leaves the project, and no revision of a URL with a user
//! name or a password. The file appears complete or not at
//! all.

use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use varve_core::secret::ShownUrl;
use varve_crystal::{BodyLookup, Project, Revision, RevisionBody};
use varve_store::exchange::not_modified_field;
use varve_store::record::field;
use varve_warc::date::{Date, Precision};
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{
    Draft, PackedRecord, Packer, Packing, Profile, RecordPackError, WarcWriter, pack_reader, warc_fields,
};

use super::import::exchange::{CUT_SHORT, head};
use crate::error::ArchiveError;
use varve_file::{NewFile, TemporaryFolder};
use varve_repository::archive_writer::Clock;
use varve_repository::history::time_of_revision;

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarcExported {
    /// The file.
    pub path: PathBuf,
    /// Records written, without the description of the file.
    pub records: u64,
    /// Number of revisits.
    pub revisits: u64,
    /// Number of failures.
    pub failures: u64,
    /// Number of revisions whose body is lost.
    pub missing: u64,
    /// Number of revisions whose URL cannot be written in a record.
    pub left_behind: u64,
    /// Number of revisions whose URL has a user name or a password.
    pub with_user_info: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// The contents of the first record, which describes the file.
pub struct Description<'a> {
    /// The program.
    pub software: &'a str,
    /// The clock.
    pub clock: Clock,
}

struct Exporting<'a> {
    project: &'a Project,
    packer: Packer,
    exported: WarcExported,
}

/// Writes all revisions of the project at `path` into a new file. `progress` is called for each.
pub fn export(
    path: &Path,
    target: &Path,
    about: &Description<'_>,
    progress: &dyn Fn(u64),
) -> Result<WarcExported, ArchiveError> {
    let project = Project::open(path)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = NewFile::new_in(folder).map_err(ArchiveError::write(target))?;
    let failed = |error| ArchiveError::write(target)(error);
    let packing = if is_gzip(target) { Packing::Gzip } else { Packing::Plain };
    let packer = Packer::new(packing.clone(), Some(TemporaryFolder::from(folder))).map_err(&failed)?;
    let exported = WarcExported { path: target.to_owned(), ..WarcExported::default() };
    let mut exporting = Exporting { project: &project, packer, exported };
    let mut writer = WarcWriter::new(BufWriter::new(file.as_file()), &packing).map_err(&failed)?;
    writer.append(exporting.describe(about, target)?).map_err(&failed)?;
    for revision in project.revisions() {
        if let Some(record) = exporting.record(&revision?)? {
            writer.append(record).map_err(&failed)?;
            exporting.exported.records += 1;
        }
        progress(1);
    }
    exporting.exported.bytes = writer.offset();
    writer.into_inner().flush().map_err(&failed)?;
    file.as_file().sync_all().map_err(&failed)?;
    file.persist_noclobber(target).map_err(|problem| ArchiveError::write(target)(problem.error))?;
    Ok(exporting.exported)
}

/// Whether the file name has the suffix of gzip.
fn is_gzip(target: &Path) -> bool {
    target.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"))
}

impl Exporting<'_> {
    fn describe(&mut self, about: &Description<'_>, target: &Path) -> Result<PackedRecord, ArchiveError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let project = self.project.path().file_name().unwrap_or_default().to_string_lossy();
        let plain = |text: &str| text.chars().filter(|letter| !letter.is_control()).collect::<String>();
        let fields = [
            ("software", about.software.to_owned()),
            ("format", "WARC File Format 1.1".to_owned()),
            ("description", format!("the Crystal project {}", plain(&project))),
        ];
        let block = warc_fields(fields.iter().map(|(name, value)| (*name, value.as_str())));
        let draft = Draft::new(RecordType::Warcinfo, &(about.clock)())
            .field("WARC-Filename", &plain(&name))
            .content_type("application/warc-fields");
        Ok(self.packer.pack(&draft, PayloadKind::None, &block).map_err(varve_store::StoreError::from)?)
    }

    /// A revision as a record; `None` if there is nothing to write, which is counted.
    fn record(&mut self, revision: &Revision) -> Result<Option<PackedRecord>, ArchiveError> {
        let url = self.project.resource(revision.resource)?.map(|resource| resource.url);
        let url = url.unwrap_or_else(|| format!("urn:crystal:resource:{}", revision.resource));
        if ShownUrl(&url).has_user_info() {
            self.exported.with_user_info += 1;
            return Ok(None);
        }
        let packed = match self.project.body_of(revision)? {
            BodyLookup::Found(body) => self.answer(&url, revision, body)?,
            BodyLookup::NeverHad => self.failure(&url, revision)?,
            BodyLookup::Missing { .. } => {
                self.exported.missing += 1;
                return Ok(None);
            }
        };
        match packed {
            Ok(record) => Ok(Some(record)),
            Err(RecordPackError::Draft(_)) => {
                self.exported.left_behind += 1;
                Ok(None)
            }
            Err(RecordPackError::Io(source)) => Err(ArchiveError::write(&self.exported.path)(source)),
        }
    }

    fn answer(&mut self, url: &str, revision: &Revision, body: RevisionBody) -> Result<Packed, ArchiveError> {
        let Some((original, date)) = self.original(url, revision)? else {
            return self.response(url, revision, body);
        };
        let metadata = revision.metadata().ok().flatten();
        let head = metadata.map(|metadata| head(&metadata, 0)).unwrap_or_default();
        let mut draft = Draft::new(RecordType::Revisit, &self.date(revision)?).target_uri(url).http();
        let (profile, block) = match (not_modified_field(&head), original.block.payload) {
            (Some(value), Some(payload)) => {
                draft = draft.field(field::NOT_MODIFIED_HEAD, &value);
                (Profile::IdenticalPayloadDigest(payload), Vec::new())
            }
            _ => (Profile::ServerNotModified, head),
        };
        let draft = draft.revisit_of(profile, original.id, url, &date);
        self.exported.revisits += 1;
        Ok(self.packer.pack(&draft, PayloadKind::Revisit, &block))
    }

    /// The record of the response that a 304 stands for, and its date. Packing that response again
    /// gives its id, which is derived from its content.
    fn original(
        &mut self,
        url: &str,
        revision: &Revision,
    ) -> Result<Option<(PackedRecord, String)>, ArchiveError> {
        let meant = self.project.resolve(revision.clone())?.revision;
        if meant.id == revision.id {
            return Ok(None);
        }
        let BodyLookup::Found(body) = self.project.body_of(&meant)? else { return Ok(None) };
        let date = self.date(&meant)?.to_string();
        match self.response(url, &meant, body)? {
            Ok(record) => Ok(Some((record, date))),
            Err(RecordPackError::Draft(_)) => Ok(None),
            Err(RecordPackError::Io(source)) => Err(ArchiveError::write(&self.exported.path)(source)),
        }
    }

    fn response(
        &mut self,
        url: &str,
        revision: &Revision,
        mut body: RevisionBody,
    ) -> Result<Packed, ArchiveError> {
        let date = self.date(revision)?;
        let Some(metadata) = revision.metadata().ok().flatten() else {
            let draft = Draft::new(RecordType::Resource, &date)
                .target_uri(url)
                .content_type("application/octet-stream");
            return Ok(pack_reader(&mut self.packer, &draft, PayloadKind::Block, &mut body));
        };
        let length = self.project.body_length(revision.id)?.unwrap_or(0);
        let head = head(&metadata, length);
        let mut draft = Draft::new(RecordType::Response, &date).target_uri(url).http();
        if self.project.is_cut_short(revision)? {
            draft = draft.truncated(CUT_SHORT);
        }
        let mut block = head.as_slice().chain(body);
        Ok(pack_reader(&mut self.packer, &draft, PayloadKind::Response, &mut block))
    }

    fn failure(&mut self, url: &str, revision: &Revision) -> Result<Packed, ArchiveError> {
        let said = revision.download_error().ok().flatten();
        let said = said
            .map_or_else(|| "unreadable".to_owned(), |error| format!("{}: {}", error.kind, error.message));
        let said: String =
            said.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let draft = Draft::new(RecordType::Metadata, &self.date(revision)?)
            .target_uri(url)
            .content_type("application/warc-fields");
        let block = warc_fields([("fetchError", said.trim()), ("crystalRevision", &revision.id.to_string())]);
        self.exported.failures += 1;
        Ok(self.packer.pack(&draft, PayloadKind::None, &block))
    }

    fn date(&self, revision: &Revision) -> Result<Date, ArchiveError> {
        let instant = time_of_revision(self.project, revision)?.utc();
        Ok(Date { instant, precision: Precision::Second, well_formed: true })
    }
}

type Packed = Result<PackedRecord, RecordPackError>;
