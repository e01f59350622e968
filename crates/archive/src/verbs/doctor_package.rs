//! `doctor` of a WACZ file: the package, and each file of records in it.

use std::path::Path;
use std::sync::Arc;

use varve_wacz::{MemberRole, PackageSignature, Wacz, ZipFinding, ZipRule, verify_package};
use varve_warc::inspect::{InspectOptions, InspectReport, inspect};

use super::doctor::{DoctorError, open};

/// The facts about a package.
pub struct PackageReport {
    /// `wacz_version`, if the package says so.
    pub version: Option<String>,
    /// Number of members.
    pub members: u64,
    /// Its signature, if it has one and it is right.
    pub signature: Option<PackageSignature>,
    /// What is wrong with the package, in the order of the file.
    pub findings: Vec<ZipFinding>,
    /// The files of records, by name, that could be inspected.
    pub records: Vec<(String, InspectReport)>,
}

/// Whether a file is a ZIP archive, as WACZ files are.
pub fn is_package(path: &Path) -> Result<bool, DoctorError> {
    let mut first = [0; 4];
    let failed = |source| DoctorError::Open { path: path.to_owned(), source };
    let count = varve_wire::ReadAt::read_at(&open(path)?, &mut first, 0).map_err(failed)?;
    Ok(first.get(..count) == Some(b"PK\x03\x04"))
}

/// Examines a package: every member against its checksum and its digest, and every file of records.
pub fn examine_package(
    path: &Path,
    options: InspectOptions,
    progress: &(impl Fn(u64) + Sync),
) -> Result<PackageReport, DoctorError> {
    let file = open(path)?;
    let failed = |source| DoctorError::Package { path: path.to_owned(), source };
    let package = Wacz::open(Arc::new(file)).map_err(failed)?;
    let version = package.description().and_then(|description| description.wacz_version.clone());
    let members = package.zip().members().len() as u64;
    let mut findings = Vec::new();
    let signature = verify_package(&package, &|bytes| progress(bytes), &mut |finding| findings.push(finding));
    let mut report = PackageReport { version, members, signature, findings, records: Vec::new() };
    for member in package.members(MemberRole::Records) {
        let what = match package.stored(member) {
            Ok(Some(range)) => match inspect(&range, options, &|_| {}) {
                Ok(inspected) => {
                    report.records.push((member.name.clone(), inspected));
                    continue;
                }
                Err(error) => varve_store::error_text(&error),
            },
            Ok(None) => "it is deflated and not stored, so its records were not examined".to_owned(),
            // Reading the member to its end has reported it.
            Err(_) => continue,
        };
        report.findings.push(ZipFinding {
            rule: ZipRule::MemberContent,
            offset: member.header_offset,
            message: format!("member `{}`: {what}", member.name),
        });
    }
    report.findings.sort_by_key(|finding| finding.offset);
    Ok(report)
}
