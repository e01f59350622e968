//! Descriptions, which are `warcinfo` records. Every silo begins with one: it states the archive's
//! fields, the silo's number and the digest of the previous silo. The description of a run is named
//! by the run's responses.
//!
//! Only the description of a silo has a file name.

use varve_core::RecordId;
use varve_warc::digest::Digest;
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{Draft, PackedRecord, Packer, warc_fields};

use super::StoreWriter;
use crate::error::{StoreError, parse_record_uri};
use crate::settings::StoreSettings;
use crate::silo::{FILE_NAME_FIELD, digest_chain, name};

/// The description of silo `number`.
pub(crate) fn describe(
    packer: &mut Packer,
    settings: &StoreSettings,
    number: u32,
    previous: Option<Digest>,
) -> Result<PackedRecord, StoreError> {
    let fields = settings.description.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let block = warc_fields(fields);
    let draft = Draft::new(RecordType::Warcinfo, &(settings.clock)())
        .field(FILE_NAME_FIELD, &name::file_name(number, settings.ending()))
        .content_type("application/warc-fields");
    // The number makes each description, and so its id, unique.
    let mut own = block;
    own.extend_from_slice(&warc_fields([("varve-silo", number.to_string().as_str())]));
    if let Some(previous) = previous {
        own.extend_from_slice(&warc_fields([(
            digest_chain::PREVIOUS_SILO_FIELD,
            previous.to_string().as_str(),
        )]));
    }
    Ok(packer.pack(&draft, PayloadKind::None, &own)?)
}

impl StoreWriter {
    /// Stores the description of a run: the fields of every silo, and these. An equal description
    /// is stored once. It is durable as soon as any later record is.
    pub fn describe_run(&self, fields: &[(&str, String)]) -> Result<RecordId, StoreError> {
        let own = fields.iter().map(|(name, value)| (*name, value.as_str()));
        let general = self.settings().description.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let block = warc_fields(general.chain(own));
        let draft = Draft::new(RecordType::Warcinfo, &(self.settings().clock)())
            .content_type("application/warc-fields");
        let record = self.packer()?.pack(&draft, PayloadKind::None, &block)?;
        let id = parse_record_uri(&record.id)?;
        self.keep(record)?;
        Ok(id)
    }
}
