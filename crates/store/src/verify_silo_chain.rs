//! Verifies the chain of silos: each describes itself by its name and states the digest of the one
//! before it.
//!
//! Finds silos that were changed, renamed or swapped. Missing numbers are found by listing the
//! silos, which is not done here.

use std::fmt;

use varve_warc::digest::{Algorithm, Digest};
use varve_warc::record::RecordHeader;

use crate::error::StoreError;
use crate::reader::OpenSilos;
use crate::silo::{FILE_NAME_FIELD, SiloFile, digest_chain, is_description_of};

/// A silo that does not fit the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainBreak {
    /// The number of the silo.
    pub silo: u32,
    /// Its name relative to the folder of silos.
    name: String,
    problem: ChainProblem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ChainProblem {
    /// It begins with the description of another silo, or with none.
    Description { stated: Option<String> },
    /// Its successor states another digest.
    Changed { found: Box<Digest>, expected: Box<Digest> },
}

impl ChainBreak {
    /// Whether the file was renamed, as opposed to changed.
    pub(crate) fn is_renamed(&self) -> bool {
        matches!(self.problem, ChainProblem::Description { .. })
    }
}

impl fmt::Display for ChainBreak {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.problem {
            ChainProblem::Description { stated: Some(stated) } => {
                write!(
                    formatter,
                    "silo `{name}` says that it is `{stated}`: it was renamed or swapped with another"
                )
            }
            ChainProblem::Description { stated: None } => {
                write!(formatter, "silo `{name}` does not begin with its description")
            }
            ChainProblem::Changed { found, expected } => write!(
                formatter,
                "silo `{name}` is not the file that was sealed: its digest is {found}, the next silo says {expected}"
            ),
        }
    }
}

/// The problem of a description that is not that of the silo it is in.
pub(crate) fn check_description(header: &RecordHeader, silo: &SiloFile) -> Option<ChainBreak> {
    if is_description_of(header, silo.number, silo.ending) {
        return None;
    }
    let stated =
        header.fields.get(FILE_NAME_FIELD).map(|stated| String::from_utf8_lossy(stated).into_owned());
    Some(ChainBreak { silo: silo.number, name: silo.name(), problem: ChainProblem::Description { stated } })
}

/// Hashes a silo and compares it with the digest that its successor states. `None` if they agree,
/// without a successor, and if either is a renamed file, which [`check_description`] reports.
pub(crate) fn check_digest(
    silos: &OpenSilos,
    silo: &SiloFile,
    next: Option<&SiloFile>,
) -> Result<Option<ChainBreak>, StoreError> {
    let Some(next) = next.filter(|next| next.number == silo.number + 1) else { return Ok(None) };
    let is_renamed = |header: &RecordHeader, silo| check_description(header, silo).is_some();
    let description = silos.description_of(next.number)?;
    let description =
        description.filter(|(header, block)| !is_renamed(header, next) && is_intact(header, block));
    let Some(expected) = description.and_then(|(_, block)| digest_chain::stated_previous_digest(&block))
    else {
        return Ok(None);
    };
    if silos.description_of(silo.number)?.is_some_and(|(header, _)| is_renamed(&header, silo)) {
        return Ok(None);
    }
    let failed = |source| StoreError::read(silo.number, varve_warc::Error::Io { offset: 0, source });
    let found = digest_chain::file_digest(&*silos.silo(silo.number)?).map_err(failed)?;
    let (number, name) = (silo.number, silo.name());
    let problem = ChainProblem::Changed { found: Box::new(found), expected: Box::new(expected) };
    Ok((found != expected).then_some(ChainBreak { silo: number, name, problem }))
}

/// Whether a block has the digest that its header states. A damaged description is no evidence.
fn is_intact(header: &RecordHeader, block: &[u8]) -> bool {
    header
        .block_digest()
        .is_some_and(|stated| stated.is_ok_and(|stated| stated == Algorithm::Sha256.digest(block)))
}
