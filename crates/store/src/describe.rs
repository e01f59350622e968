//! The record that every silo begins with: what the archive says of itself, which silo this is, and what the one before was.

use varve_warc::digest::Digest;
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{Draft, PackedRecord, Packer, warc_fields};

use crate::error::StoreError;
use crate::settings::Settings;
use crate::silo::{chain, name};

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
        .field("WARC-Filename", &name::file_name(number, settings.ending()))
        .content_type("application/warc-fields");
    // Two silos may say the same of themselves: the number makes each description, and so its id, its own.
    let mut own = block;
    own.extend_from_slice(&warc_fields([("varve-silo", number.to_string().as_str())]));
    if let Some(previous) = previous {
        own.extend_from_slice(&warc_fields([(chain::PREVIOUS, previous.to_string().as_str())]));
    }
    Ok(packer.pack(&draft, PayloadKind::None, &own)?)
}
