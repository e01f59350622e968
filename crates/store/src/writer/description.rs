//! Descriptions, which are `warcinfo` records: the one that every silo begins with, of what the archive says of itself, which
//! silo this is and what the one before was; and those of runs, which the answers of a run name.
//!
//! Only the first names a file, and that is how they are told apart.

use varve_core::RecordId;
use varve_warc::digest::Digest;
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{Draft, PackedRecord, Packer, warc_fields};

use super::StoreWriter;
use crate::error::StoreError;
use crate::record::parse_id;
use crate::settings::Settings;
use crate::silo::{FILE_NAME, chain, name};

/// The description of silo `number`.
pub(crate) fn describe(
    packer: &mut Packer,
    settings: &Settings,
    number: u32,
    previous: Option<Digest>,
) -> Result<PackedRecord, StoreError> {
    let fields = settings.description.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let block = warc_fields(fields);
    let draft = Draft::new(RecordType::Warcinfo, &(settings.clock)())
        .field(FILE_NAME, &name::file_name(number, settings.ending()))
        .content_type("application/warc-fields");
    // Two silos may say the same of themselves: the number makes each description, and so its id, its own.
    let mut own = block;
    own.extend_from_slice(&warc_fields([("varve-silo", number.to_string().as_str())]));
    if let Some(previous) = previous {
        own.extend_from_slice(&warc_fields([(chain::PREVIOUS, previous.to_string().as_str())]));
    }
    Ok(packer.pack(&draft, PayloadKind::None, &own)?)
}

impl StoreWriter {
    /// Keeps a description of records that will name it: what every silo says of itself, and these fields. The same is kept
    /// once. It is safe when any record behind it is.
    pub fn describe_run(&self, fields: &[(&str, String)]) -> Result<RecordId, StoreError> {
        let own = fields.iter().map(|(name, value)| (*name, value.as_str()));
        let general = self.settings().description.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let block = warc_fields(general.chain(own));
        let draft = Draft::new(RecordType::Warcinfo, &(self.settings().clock)())
            .content_type("application/warc-fields");
        let record = self.packer()?.pack(&draft, PayloadKind::None, &block)?;
        let id = parse_id(record.id.as_bytes()).ok_or(StoreError::Stopped)?;
        self.keep(record)?;
        Ok(RecordId::new(id))
    }
}
