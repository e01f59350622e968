//! Replacing a file so that at every instant there is either the old one or the new one, whole.

use crate::NewFile;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Replaces the file at `path`; its mode stays, and a link to it stays a link.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let place = match fs::canonicalize(path) {
        Ok(place) => place,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = NewFile::new_in(folder)?;
    if let Ok(old) = fs::metadata(&place) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(&place).map_err(|failure| failure.error)?;
    // The new name is safe only when the folder is.
    File::open(folder)?.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn mode_and_link_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_folder_that_cannot_be_written_leaves_the_old() {
        let folder = tempfile::tempdir().unwrap();
        assert!(replace(&folder.path().join("no/such/file"), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
