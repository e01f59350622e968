//! Packing: the bodies of sixteen neighbours, each a file of its own, become one zip.
//!
//! The order is that of Crystal, and a crash at any step leaves every body readable. The pack is
//! written beside the project's bodies and made durable, it gets its name, and only then are the
//! files removed that it holds. Readers look into the pack first and then for the file.
//!
//! Two things are done otherwise. Crystal packs the files that it finds and replaces what has the
//! pack's name: where the last revision of a pack was deleted and its id was given again, fifteen
//! bodies go. Here the entries of the older pack are carried over. And a pack that appeared
//! meanwhile is not replaced: a Crystal may be packing the same bodies at this moment.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use varve_file::EntryKind;

use crate::body::{DraftFile, EntryWriteError, PackWriter, entry_names, find_entry, open_entry};
use crate::body::{pack_path, replacing, tree_path};
use crate::disk::ProjectDisk;
use crate::error::{Error, Result, io_at};
use crate::format_error::BodyPackError;
use crate::ids::RevisionId;
use crate::location::ProjectLayout;
use crate::salvage::salvage;

/// The last digit of the last id in a pack.
const LAST_DIGIT: i64 = 0xf;

/// The last id that shares a pack with this one.
pub(crate) const fn last_of_pack(id: RevisionId) -> RevisionId {
    RevisionId(id.get() | LAST_DIGIT)
}

/// Whether an id is the last of its pack.
pub(crate) const fn completes_pack(id: RevisionId) -> bool {
    id.get() & LAST_DIGIT == LAST_DIGIT
}

/// What became of the bodies of one pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PackedBodies {
    /// Bodies that are in the pack now and were files before.
    pub(crate) packed: u64,
    /// Bodies that could not be read, and stay files.
    pub(crate) unreadable: u64,
}

/// Packs the bodies of one project.
pub(crate) struct BodyPacking<'p> {
    pub(crate) layout: &'p ProjectLayout,
    pub(crate) disk: &'p ProjectDisk,
}

/// A body that is a file of its own.
struct LooseBody {
    /// Its name in a pack.
    name: String,
    path: PathBuf,
}

impl BodyPacking<'_> {
    /// Whether a pack for the bodies up to this id is there.
    pub(crate) fn has_pack(&self, last: RevisionId) -> Result<bool> {
        let Some((pack, _)) = pack_path(last) else { return Ok(false) };
        Ok(self.disk.kind(&self.layout.revisions().join(pack))? == Some(EntryKind::File))
    }

    /// Packs the loose bodies among the sixteen that end with this id.
    pub(crate) fn pack(&self, last: RevisionId) -> Result<PackedBodies> {
        let Some((name, _)) = pack_path(last) else { return Ok(PackedBodies::default()) };
        let pack = self.layout.revisions().join(name);
        let loose = self.loose_bodies(last)?;
        if loose.is_empty() {
            return Ok(PackedBodies::default());
        }
        self.restore_replaced(&pack)?;
        let carried = match self.names_in(&pack) {
            Ok(names) => names,
            // It is left as it is; `verify` reports it.
            Err(Error::Pack { .. }) => return Ok(PackedBodies::default()),
            Err(error) => return Err(error),
        };
        let (new, twice): (Vec<_>, Vec<_>) =
            loose.into_iter().partition(|body| carried.as_ref().is_none_or(|old| !old.contains(&body.name)));
        let packed = match self.write(&pack, carried.as_ref(), &new) {
            Err(Error::Pack { .. }) => return Ok(PackedBodies::default()),
            packed => packed?,
        };
        for body in &twice {
            self.remove_copy(&pack, body)?;
        }
        Ok(packed)
    }

    fn loose_bodies(&self, last: RevisionId) -> Result<Vec<LooseBody>> {
        let mut loose = Vec::new();
        for id in last.get() - LAST_DIGIT..=last.get() {
            let (Some(path), Some((_, name))) = (tree_path(RevisionId(id)), pack_path(RevisionId(id))) else {
                continue;
            };
            let path = self.layout.revisions().join(path);
            if self.disk.kind(&path)? == Some(EntryKind::File) {
                loose.push(LooseBody { name, path });
            }
        }
        Ok(loose)
    }

    /// Writes a pack of the bodies that an older one of its name has and of these files, and
    /// removes the files.
    fn write(&self, pack: &Path, old: Option<&BTreeSet<String>>, new: &[LooseBody]) -> Result<PackedBodies> {
        let (draft, file) = DraftFile::begin(self.layout, "zip")?;
        let mut writer = PackWriter::new(file);
        for name in old.into_iter().flatten() {
            self.carry_over(pack, name, &mut writer, &draft)?;
        }
        let (mut packed, mut unreadable) = (Vec::new(), 0);
        for body in new {
            let opened = self.layout.folder().open_to_read(self.layout.name(&body.path));
            match opened.map_err(io::Error::from) {
                Ok(mut file) => match writer.add(&body.name, &mut file) {
                    Ok(()) => packed.push(&body.path),
                    Err(EntryWriteError::Source(_)) => unreadable += 1,
                    Err(EntryWriteError::Pack(error)) => return Err(io_at("write", &draft.path())(error)),
                },
                // Another program packs them at this moment.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PackedBodies::default()),
                Err(_) => unreadable += 1,
            }
        }
        if packed.is_empty() {
            return Ok(PackedBodies { packed: 0, unreadable });
        }
        if !self.put_in_place(pack, old.is_some(), draft, writer)? {
            return Ok(PackedBodies::default());
        }
        for path in &packed {
            self.disk.remove_file(path)?;
        }
        Ok(PackedBodies { packed: packed.len() as u64, unreadable })
    }

    /// Gives a written pack its name, durably. Returns false if it is to be the first of its name
    /// and another has appeared.
    fn put_in_place(
        &self,
        pack: &Path,
        replaces: bool,
        draft: DraftFile,
        writer: PackWriter,
    ) -> Result<bool> {
        let file = writer.finish().map_err(io_at("write", &draft.path()))?;
        self.disk.sync_file(&file, &draft.path())?;
        if replaces {
            self.disk.rename(&draft.path(), pack)?;
        } else if !self.disk.rename_new(&draft.path(), pack)? {
            return Ok(false);
        }
        draft.keep();
        if let Some(folder) = pack.parent() {
            self.disk.sync_folder(folder)?;
        }
        Ok(true)
    }

    /// The names of the bodies in a pack; none if there is no such pack.
    fn names_in(&self, pack: &Path) -> Result<Option<BTreeSet<String>>> {
        if self.disk.kind(pack)? != Some(EntryKind::File) {
            return Ok(None);
        }
        let bad = |source| Error::Pack { path: pack.to_owned(), source };
        let names = entry_names(&mut self.open(pack)?).map_err(bad)?;
        let texts =
            names.into_iter().map(|name| String::from_utf8(name).map_err(|_| BodyPackError::BadDirectory));
        texts.collect::<Result<_, _>>().map(Some).map_err(bad)
    }

    fn open(&self, pack: &Path) -> Result<File> {
        Ok(self.layout.folder().open_to_read(self.layout.name(pack))?)
    }

    fn open_entry(&self, pack: &Path, name: &str) -> Result<Option<impl Read + use<>>> {
        let bad = |source| Error::Pack { path: pack.to_owned(), source };
        let mut file = self.open(pack)?;
        let Some(entry) = find_entry(&mut file, name).map_err(bad)? else { return Ok(None) };
        open_entry(file, entry).map(Some).map_err(bad)
    }

    /// Copies an entry of an older pack into a new one.
    fn carry_over(&self, pack: &Path, name: &str, writer: &mut PackWriter, draft: &DraftFile) -> Result<()> {
        let Some(mut body) = self.open_entry(pack, name)? else { return Ok(()) };
        writer.add(name, &mut body).map_err(|error| match error {
            EntryWriteError::Source(error) => Error::Pack { path: pack.to_owned(), source: error.into() },
            EntryWriteError::Pack(error) => io_at("write", &draft.path())(error),
        })
    }

    /// Gives a pack its name again that Crystal took away before it was to be replaced.
    fn restore_replaced(&self, pack: &Path) -> Result<()> {
        let aside = replacing(pack);
        if self.disk.kind(pack)?.is_none() && self.disk.kind(&aside)? == Some(EntryKind::File) {
            self.disk.rename_new(&aside, pack)?;
        }
        Ok(())
    }

    /// Removes a file whose body is in the pack too, because a crash came before its removal. One
    /// with other bytes is moved to `salvage`.
    fn remove_copy(&self, pack: &Path, body: &LooseBody) -> Result<()> {
        let mut file = self.layout.folder().open_to_read(self.layout.name(&body.path))?;
        let packed = self.open_entry(pack, &body.name)?;
        let is_same = match packed {
            Some(mut packed) => has_same_bytes(&mut file, &mut packed).map_err(io_at("read", &body.path))?,
            None => false,
        };
        if is_same {
            return self.disk.remove_file(&body.path);
        }
        salvage(self.disk, &self.layout.salvage(), &body.path, &format!("body-{}", body.name)).map(drop)
    }

    /// Moves an entry of a pack to `salvage`, and says where it is; none if there is no such pack
    /// or entry.
    pub(crate) fn take_out(&self, pack: &Path, entry: &str, name: &str) -> Result<Option<PathBuf>> {
        self.restore_replaced(pack)?;
        let Some(mut names) = self.names_in(pack)? else { return Ok(None) };
        if !names.remove(entry) {
            return Ok(None);
        }
        let Some(mut body) = self.open_entry(pack, entry)? else { return Ok(None) };
        let (copy, mut file) = DraftFile::begin(self.layout, "body")?;
        io::copy(&mut body, &mut file).map_err(io_at("copy", pack))?;
        self.disk.sync_file(&file, &copy.path())?;
        let kept = salvage(self.disk, &self.layout.salvage(), &copy.path(), name)?;
        copy.keep();
        if names.is_empty() {
            self.disk.remove_file(pack)?;
            return Ok(Some(kept));
        }
        let (draft, file) = DraftFile::begin(self.layout, "zip")?;
        let mut writer = PackWriter::new(file);
        for name in &names {
            self.carry_over(pack, name, &mut writer, &draft)?;
        }
        self.put_in_place(pack, true, draft, writer)?;
        Ok(Some(kept))
    }
}

fn has_same_bytes(one: &mut dyn Read, other: &mut dyn Read) -> io::Result<bool> {
    let (mut left, mut right) = (io::BufReader::new(one).bytes(), io::BufReader::new(other).bytes());
    loop {
        match (left.next().transpose()?, right.next().transpose()?) {
            (None, None) => return Ok(true),
            (one, other) if one == other => {}
            _ => return Ok(false),
        }
    }
}
