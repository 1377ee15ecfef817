//! Files of ticket keys, which servers read when they start or reload.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use zeroize::Zeroizing;

/// Replaces a file, unless it has these contents: a reader finds the earlier contents or these, never a part. It has the owner and the group of the
/// earlier file, and is readable by the owner, and by the group if that could read the earlier one.
///
/// # Errors
/// If it can't be written, is no regular file, or if others may write to its directory.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    if has(path, contents)? {
        return Ok(());
    }
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if fs::metadata(directory)?.mode() & 0o002 != 0 {
        let what = format!("every user of this machine may write to {}", directory.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, what));
    }
    let earlier = match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = directory.join(name);
    // Left by a crash.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(contents)?;
        if let Some(earlier) = earlier {
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (earlier.uid(), earlier.gid()) {
                fchown(&file, Some(earlier.uid()), Some(earlier.gid()))?;
            }
            file.set_permissions(Permissions::from_mode(0o600 | (earlier.mode() & 0o040)))?;
        }
        file.sync_all()?;
        fs::rename(&new, path)?;
        File::open(directory)?.sync_all()
    })();
    // The earlier file is in place, whatever happened.
    written.inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Whether the file has these contents already.
fn has(path: &Path, contents: &[u8]) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() == contents.len() as u64 => {
            Ok(Zeroizing::new(fs::read(path)?).as_slice() == contents)
        }
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_replaced_whole_and_is_private() {
        let directory = std::env::temp_dir().join(format!("tessera-stek-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
        let path = directory.join("keys");
        let mode = || fs::metadata(&path).unwrap().mode() & 0o777;
        replace(&path, b"first").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"first".to_vec(), 0o600));
        // Left by a crash.
        fs::write(directory.join("keys.new"), "half").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"second".to_vec(), 0o640));
        assert!(!directory.join("keys.new").exists());

        fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
        assert_eq!(replace(&path, b"third").unwrap_err().kind(), ErrorKind::PermissionDenied);
        fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert_eq!(replace(&path, b"third").unwrap_err().kind(), ErrorKind::InvalidInput);
        fs::remove_dir_all(&directory).unwrap();
    }
}
