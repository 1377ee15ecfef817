//! The files of reports.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::process;

/// Writes a file atomically: on failure the old content stays. A device or a pipe is written in place; so is a file
/// whose directory allows no new files.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    let (false, Some(place)) = (there.as_ref().is_some_and(|it| !it.is_file()), place(path)) else {
        return fs::write(path, bytes);
    };
    let new = beside(&place);
    // Left by a killed process with the same number.
    let _ = fs::remove_file(&new);
    let opened = OpenOptions::new().write(true).create_new(true).open(&new);
    let moved = match opened {
        Ok(mut file) => {
            fill(&mut file, bytes, there.as_ref()).inspect_err(|_| remove(&new))?;
            fs::rename(&new, &place).inspect_err(|_| remove(&new))
        }
        Err(error) => Err(error),
    };
    match moved {
        Err(_) if there.is_some() => fs::write(path, bytes),
        moved => moved,
    }
}

/// Whether two names are of one file, which need not exist yet. Two names of a device or a pipe are allowed.
pub(super) fn is_one_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => {
            one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino())
        }
        (Err(_), Err(_)) => place(one).is_some_and(|one| Some(one) == place(other)),
        _ => false,
    }
}

/// Returns where a file is, or would be made: at the end of symbolic links.
fn place(path: &Path) -> Option<PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let directory = match path.parent()? {
            here if here.as_os_str().is_empty() => Path::new("."),
            directory => directory,
        };
        let directory = fs::canonicalize(directory).ok()?;
        let place = directory.join(path.file_name()?);
        match fs::read_link(&place) {
            Ok(target) => path = directory.join(target),
            Err(_) => return Some(place),
        }
    }
    None
}

/// Returns an unused name in the same directory.
fn beside(place: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(format!(".{}.new", process::id()));
    place.with_file_name(name)
}

/// Writes the content, with the permissions of the file that it will replace.
fn fill(file: &mut File, bytes: &[u8], there: Option<&Metadata>) -> io::Result<()> {
    if let Some(there) = there {
        // Only root can change owners, and only root needs to.
        let _ = fchown(&*file, Some(there.uid()), Some(there.gid()));
        file.set_permissions(there.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

fn remove(file: &Path) {
    // It is a temporary file, and the original error is more informative.
    let _ = fs::remove_file(file);
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A directory that is removed on drop, with its contents.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("tessera-files-{}-{name}", process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_report_takes_the_place_of_the_last_one_with_its_rights_and_through_links() {
        let directory = Scratch::new("whole");
        let (file, link) = (directory.path("report"), directory.path("link"));
        symlink("report", &link).unwrap();
        write_whole(&link, b"first").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let first = fs::metadata(&file).unwrap();
        write_whole(&link, b"second").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"second");
        let second = fs::symlink_metadata(&file).unwrap();
        assert_eq!(second.permissions().mode() & 0o777, 0o600);
        assert_ne!(first.ino(), second.ino(), "it was written in place");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(&directory.0).unwrap().count(), 2, "something is left");
        write_whole(Path::new("/dev/null"), b"nothing").unwrap();
        assert!(write_whole(&directory.path("none/report"), b"nowhere").is_err());
    }

    #[test]
    fn one_file_is_found_under_its_other_names() {
        let directory = Scratch::new("names");
        let [file, hard, soft, other] =
            ["file", "hard", "soft", "other"].map(|it| directory.path(it));
        symlink("./file", &soft).unwrap();
        // Before it is there, and afterwards.
        for _ in 0..2 {
            let again = directory.0.join(".").join("file");
            assert!(is_one_file(&file, &again) && is_one_file(&soft, &file));
            assert!(!is_one_file(&file, &other));
            fs::write(&file, "").unwrap();
        }
        fs::hard_link(&file, &hard).unwrap();
        assert!(is_one_file(&file, &hard));
        fs::write(&other, "").unwrap();
        assert!(!is_one_file(&file, &other));
        assert!(!is_one_file(Path::new("/dev/null"), Path::new("/dev/null")));
    }
}
