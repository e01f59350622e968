//! Laws of WACZ files.

use std::io::{self, Read};
use std::sync::Arc;

use varve_wacz::{MemberRole, PageListItem, Wacz, ZipFinding, ZipMember};
use varve_wire::ReadAt;

/// Gives a few bytes at a time.
struct Stingy {
    bytes: Vec<u8>,
    step: usize,
}

impl ReadAt for Stingy {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = buffer.len().min(self.step);
        self.bytes.read_at(&mut buffer[..length], offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }
}

/// A WACZ file, or what claims to be one.
pub fn wacz(bytes: &[u8]) {
    let whole = read(bytes, usize::MAX);
    let pieces = read(bytes, 7);
    assert!(whole == pieces, "the result depends on the sizes of reads");
}

type Everything = (Vec<ZipMember>, Vec<ZipFinding>, Vec<Result<Vec<u8>, String>>);

fn read(bytes: &[u8], step: usize) -> Result<Everything, String> {
    let source = Stingy { bytes: bytes.to_vec(), step };
    let package = Wacz::open(Arc::new(source)).map_err(|error| {
        assert!(error.offset().is_none_or(|offset| offset <= bytes.len() as u64));
        error.to_string()
    })?;
    let mut free_from = 0;
    let mut contents = Vec::new();
    for member in package.zip().members() {
        assert!(!member.name.split('/').any(|part| part == ".."), "{}", member.name);
        if let Ok((start, length)) = package.zip().packed_extent(member) {
            assert!(start >= free_from, "the members overlap");
            free_from = start + length;
        }
        contents.push(content(&package, member));
    }
    for list in package.members(MemberRole::Pages) {
        let Ok(items) = package.pages(list) else { continue };
        // How many lines come before a damaged place depends on the sizes of reads.
        let pages = items.map_while(Result::ok).filter(|item| matches!(item, PageListItem::Page(_)));
        assert!(pages.count() <= bytes.len().saturating_mul(1032));
    }
    Ok((package.zip().members().to_vec(), package.findings().to_vec(), contents))
}

fn content(package: &Wacz, member: &ZipMember) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut reader = package.read(member).map_err(|error| error.to_string())?;
    let read = reader.read_to_end(&mut bytes);
    assert!(bytes.len() as u64 <= member.packed_size.saturating_mul(1032).saturating_add(64));
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}
