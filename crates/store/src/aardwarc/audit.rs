//! Is every byte of an AardWARC store still what it was?
//!
//! Checks every record against its checksums, digests and id, the segments of every object, and the
//! names and numbers of silos. AardWARC's own index is not used.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use varve_warc::record::RecordHeader;

use super::check_files::check_files;
use super::folder::{AardwarcFolder, AardwarcSilo, number_of};
use super::segments::AardwarcSegments;
use super::{Aardwarc, AardwarcError, AardwarcFinding, AardwarcObject, scan};
use crate::audit::{AuditDone, AuditFinding, AuditKind, AuditSeverity};

/// Audits the store in a folder; `None` when it has no AardWARC silo. With `quick` it reads headers
/// and no blocks. Passes each finding to `found` and each number of processed bytes to `progress`.
pub fn audit(
    folder: &Path,
    quick: bool,
    progress: &dyn Fn(u64),
    found: &mut dyn FnMut(AuditFinding),
) -> Result<Option<AuditDone>, AardwarcError> {
    let mut done = AuditDone::default();
    let mut damaged = HashSet::new();
    let mut tell = |finding: AardwarcFinding| {
        done.findings += 1;
        if matches!(finding.kind, AuditKind::Damaged | AuditKind::Digest) {
            damaged.insert(finding.silo.clone());
        }
        found(translated(finding));
    };
    let (silos, records) = if quick {
        let Some(silos) = AardwarcFolder::open(folder)?.silos()? else { return Ok(None) };
        let records = look_quickly(&silos, progress, &mut tell)?;
        (silos, records)
    } else {
        let Some(store) = Aardwarc::open(folder, progress)? else { return Ok(None) };
        store.findings().iter().cloned().for_each(&mut tell);
        check_objects(&store, &mut tell)?;
        (store.silos().to_vec(), store.records())
    };
    missing_numbers(&silos).into_iter().for_each(&mut tell);
    let in_files = check_files(&silos, &damaged)?;
    done.findings += in_files.len() as u64;
    in_files.into_iter().map(translated).for_each(found);
    done.silos = silos.len() as u64;
    done.records = records;
    for silo in &silos {
        done.bytes += silo.length()?;
    }
    Ok(Some(done))
}

/// Checks headers only: whether they are readable and segments have their objects.
fn look_quickly(
    silos: &[AardwarcSilo],
    progress: &dyn Fn(u64),
    tell: &mut dyn FnMut(AardwarcFinding),
) -> Result<u64, AardwarcError> {
    let mut segments = AardwarcSegments::default();
    let mut firsts: Vec<(RecordHeader, (usize, u64))> = Vec::new();
    let mut records = 0;
    for (number, silo) in silos.iter().enumerate() {
        let mut end = 0;
        let found = scan::scan(silo, &mut |header, offset| {
            records += 1;
            segments.note(header, number, offset);
            if header.is_segment() && header.record_type() != varve_warc::record::RecordType::Continuation {
                firsts.push((header.clone(), (number, offset)));
            }
            progress(offset.saturating_sub(end));
            end = offset;
        })?;
        found.into_iter().for_each(&mut *tell);
    }
    let mut objects = HashSet::new();
    for (header, place) in &firsts {
        objects.insert(header.record_id().unwrap_or_default().to_vec());
        if let Err(why) = segments.parts(silos, header, *place, &|_| false) {
            tell(segment_finding(silos[place.0].path(), place.1, header.record_id(), &why));
        }
    }
    tell_orphans(&segments, silos, &objects, tell);
    Ok(records)
}

/// Reads every segmented object.
fn check_objects(store: &Aardwarc, tell: &mut dyn FnMut(AardwarcFinding)) -> Result<(), AardwarcError> {
    let mut objects = HashSet::new();
    let mut broken = Vec::new();
    let not_whole = store.objects::<AardwarcError>(|object: AardwarcObject| {
        if object.header().is_segment() {
            objects.insert(object.header().record_id().unwrap_or_default().to_vec());
            if let Err(error) = io::copy(&mut object.read(), &mut io::sink()) {
                let (silo, offset) = object.place();
                let id = object.header().record_id();
                broken.push(segment_finding(silo, offset, id, &error.to_string()));
            }
        }
        Ok(())
    })?;
    // A damaged record is already reported.
    let damaged: HashSet<(&Path, u64)> =
        store.findings().iter().map(|finding| (finding.silo.as_path(), finding.offset)).collect();
    for finding in not_whole {
        objects.extend(finding.id.as_ref().map(|id| id.clone().into_bytes()));
        if !damaged.contains(&(finding.silo.as_path(), finding.offset)) {
            tell(finding);
        }
    }
    broken.into_iter().for_each(&mut *tell);
    tell_orphans(store.segments(), store.silos(), &objects, tell);
    Ok(())
}

fn tell_orphans(
    segments: &AardwarcSegments,
    silos: &[AardwarcSilo],
    objects: &HashSet<Vec<u8>>,
    tell: &mut dyn FnMut(AardwarcFinding),
) {
    for (silo, offset, origin, number) in segments.without(objects) {
        let message = format!("segment {number} of an object whose first segment is not here");
        tell(segment_finding(silos[silo].path(), offset, Some(origin), &message));
    }
}

fn segment_finding(silo: &Path, offset: u64, id: Option<&[u8]>, message: &str) -> AardwarcFinding {
    AardwarcFinding::new(AuditKind::Segment, silo, offset, message).with_id(id)
}

/// Findings for missing numbers between the silos. AardWARC also leaves gaps after a crash.
fn missing_numbers(silos: &[AardwarcSilo]) -> Vec<AardwarcFinding> {
    let numbers: BTreeSet<u32> = silos.iter().filter_map(|silo| number_of(silo.path())).collect();
    let mut missing = Vec::new();
    let mut expected = 0;
    for number in numbers {
        if number > expected {
            let last = number - 1;
            let message = if last == expected {
                format!("silo {expected} is missing: it is lost, or its number was never used")
            } else {
                format!(
                    "silos {expected} to {last} are missing: they are lost, or their numbers were never used"
                )
            };
            let silo = PathBuf::from(expected.to_string());
            let finding = AardwarcFinding::new(AuditKind::SiloMissing, &silo, 0, message);
            missing.push(AardwarcFinding { severity: AuditSeverity::Warning, ..finding });
        }
        expected = number.saturating_add(1);
    }
    missing
}

fn translated(finding: AardwarcFinding) -> AuditFinding {
    let AardwarcFinding { kind, severity, silo, offset, id, message } = finding;
    let offset = (kind != AuditKind::SiloMissing).then_some(offset);
    AuditFinding { severity, silo: number_of(&silo), offset, id, ..AuditFinding::new(kind, message) }
}
