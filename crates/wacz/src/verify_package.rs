//! Verifies every byte of a package: checksums of members, and the digests in `datapackage.json`.

use std::collections::HashMap;
use std::io::Read;

use sha2::{Digest, Sha256};

use crate::package::Wacz;
use crate::signature::{PackageSignature, verify_signature};
use crate::zip::{ZipFinding, ZipMember, ZipRule};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// Reads all members of a package to their ends. Passes what is wrong to `found`, and the number of
/// bytes that were read to `progress`. The defects of the ZIP archive itself come first. Returns the
/// signature of the package, if it has one and it is right.
pub fn verify_package(
    wacz: &Wacz,
    progress: &dyn Fn(u64),
    found: &mut dyn FnMut(ZipFinding),
) -> Option<PackageSignature> {
    wacz.findings().iter().cloned().for_each(&mut *found);
    let mut digests = HashMap::new();
    for member in wacz.zip().members().iter().filter(|member| !member.is_folder()) {
        match digest_of(wacz, member) {
            Ok(digest) => {
                digests.insert(member.name.as_str(), (member, digest));
            }
            Err(error) => {
                let message = format!("member `{}`: {error}", member.name);
                found(ZipFinding::new(ZipRule::MemberContent, member.header_offset, message));
            }
        }
        progress(member.packed_size);
    }
    let Some(description) = wacz.description() else {
        found(ZipFinding::new(ZipRule::DataPackage, 0, "there is no `datapackage.json`"));
        return None;
    };
    for resource in &description.resources {
        let Some((member, (digest, length))) = digests.get(resource.path.as_str()) else {
            if wacz.zip().member(&resource.path).is_none() && !wacz.is_multi() {
                let message = format!("`{}` is listed in `datapackage.json` and missing", resource.path);
                found(ZipFinding::new(ZipRule::ResourceMissing, 0, message));
            }
            continue;
        };
        let has_digest = resource.hash.as_deref().is_none_or(|hash| is_digest(hash, digest));
        if !has_digest || resource.bytes.is_some_and(|bytes| bytes != *length) {
            let message = format!("`{}` is not as `datapackage.json` says", resource.path);
            found(ZipFinding::new(ZipRule::ResourceDigest, member.header_offset, message));
        }
    }
    verify_digest(wacz, &digests, found)
}

type MemberDigests<'a> = HashMap<&'a str, (&'a ZipMember, ([u8; 32], u64))>;

/// Verifies the digest of `datapackage.json`, and the signature of that digest.
fn verify_digest(
    wacz: &Wacz,
    digests: &MemberDigests<'_>,
    found: &mut dyn FnMut(ZipFinding),
) -> Option<PackageSignature> {
    let stated = match wacz.digest() {
        Ok(stated) => stated?,
        Err(error) => {
            let offset = error.offset().unwrap_or(0);
            found(ZipFinding::new(ZipRule::PackageDigest, offset, error.to_string()));
            return None;
        }
    };
    let (member, (digest, _)) = digests.get(stated.path.as_str())?;
    let mut report = |rule, message: &str| {
        found(ZipFinding::new(rule, member.header_offset, format!("`{}`: {message}", stated.path)));
    };
    if !is_digest(&stated.hash, digest) {
        report(ZipRule::PackageDigest, "it is not as `datapackage-digest.json` says");
        return None;
    }
    match verify_signature(stated.signed_data.as_ref()?, &stated.hash) {
        Ok(signature) => Some(signature),
        Err(why) => {
            report(ZipRule::PackageSignature, why);
            None
        }
    }
}

/// Whether a digest is the stated one. One of another algorithm cannot be compared, and counts as
/// right.
fn is_digest(stated: &str, digest: &[u8; 32]) -> bool {
    let hex = match stated.split_once(':') {
        Some((algorithm, hex)) if algorithm.eq_ignore_ascii_case("sha256") => hex,
        Some(_) => return true,
        None => stated,
    };
    let own: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.eq_ignore_ascii_case(&own)
}

/// The digest and the length of a member.
fn digest_of(wacz: &Wacz, member: &ZipMember) -> Result<([u8; 32], u64), String> {
    let mut reader = wacz.read(member).map_err(|error| error.to_string())?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut length = 0;
    loop {
        match reader.read(&mut buffer).map_err(|error| error.to_string())? {
            0 => return Ok((hasher.finalize().into(), length)),
            count => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
        }
    }
}
