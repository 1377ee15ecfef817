//! Places where secrets survive the process but not a power-off: file systems in memory.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A directory in memory for the files of one program and one user, which may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDirectory {
    /// Its path.
    pub path: PathBuf,
    /// It lies in a directory where every user may create files, and which is lost with a container.
    pub is_in_shared_memory: bool,
}

/// Returns the [`runtime_directory`], or, if the system's own is missing or lies on a disk, as in most
/// containers, one in `/dev/shm` by the user's number. `$RUNTIME_DIRECTORY` is used wherever it lies. `None`
/// if there is neither.
#[must_use]
pub fn memory_directory(program: &str) -> Option<MemoryDirectory> {
    let named = runtime_directory(program);
    let is_meant = env::var_os("RUNTIME_DIRECTORY").is_some_and(|value| !value.is_empty());
    let has_memory = |path: &Path| match is_memory(path) {
        // It may not exist yet.
        Err(_) => path.parent().is_some_and(|parent| is_memory(parent).unwrap_or_default()),
        Ok(is_memory) => is_memory,
    };
    let shared = Path::new(SHARED_MEMORY);
    match named {
        Some(path) if is_meant || has_memory(&path) => {
            Some(MemoryDirectory { path, is_in_shared_memory: false })
        }
        _ if is_fit_to_share(shared) => {
            let name = format!("{program}-{}", nix::unistd::geteuid());
            Some(MemoryDirectory { path: shared.join(name), is_in_shared_memory: true })
        }
        named => named.map(|path| MemoryDirectory { path, is_in_shared_memory: false }),
    }
}

impl MemoryDirectory {
    /// Returns why no secret may be stored there, if there is a reason.
    ///
    /// # Errors
    /// Returns an error if the directory doesn't exist, or can't be inspected.
    pub fn flaw(&self) -> io::Result<Option<String>> {
        // In a shared directory, another user may have put something in its place. This user's own directory
        // stays: the sticky bit keeps others from renaming it.
        let metadata = match self.is_in_shared_memory {
            true => fs::symlink_metadata(&self.path)?,
            false => fs::metadata(&self.path)?,
        };
        if !metadata.is_dir() {
            return Ok(Some("it is not a directory: remove it".to_owned()));
        }
        if self.is_in_shared_memory && metadata.uid() != nix::unistd::geteuid().as_raw() {
            return Ok(Some("it belongs to another user: remove it".to_owned()));
        }
        let mode = metadata.mode() & 0o7777;
        let others = if self.is_in_shared_memory { 0o077 } else { 0o022 };
        Ok((mode & others != 0).then(|| {
            let (can, remedy) = match self.is_in_shared_memory {
                true => ("enter", "go="),
                false => ("write to", "go-w"),
            };
            let path = self.path.display();
            format!("others can {can} this directory (mode {mode:04o}); chmod {remedy} {path}")
        }))
    }
}

/// Location of POSIX shared memory (shm_overview(7)).
const SHARED_MEMORY: &str = "/dev/shm";

/// Whether it is in memory, and only their owner and root can rename files in it.
fn is_fit_to_share(directory: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(directory) else { return false };
    let is_sticky = metadata.mode() & 0o022 == 0 || metadata.mode() & 0o1000 != 0;
    metadata.is_dir()
        && metadata.uid() == 0
        && is_sticky
        && is_memory(directory).unwrap_or_default()
}

/// Returns the directory for files of this program that need not survive a power-off, as the service or
/// session names it: `$RUNTIME_DIRECTORY` (systemd.exec(5)), for root `/run` and the program's name, else the
/// name below `$XDG_RUNTIME_DIR`. `None` if none is named. It may not exist; [`is_memory`] checks whether it
/// is in memory.
#[must_use]
pub fn runtime_directory(program: &str) -> Option<PathBuf> {
    let named = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = named("RUNTIME_DIRECTORY").or_else(|| {
        if nix::unistd::geteuid().is_root() {
            // Root's session directory is removed when root logs out.
            return Some(Path::new("/run").join(program));
        }
        named("XDG_RUNTIME_DIR").map(|directory| directory.join(program))
    })?;
    // A service may have several; the first is its own.
    let first = directory.to_str().and_then(|it| it.split(':').next()).map(PathBuf::from);
    first.or(Some(directory)).filter(|directory| directory.is_absolute())
}

/// Returns whether a file or directory lies in memory (tmpfs or ramfs), so that it is lost with the power.
/// Pages of a tmpfs may be written to swap.
///
/// # Errors
/// Returns an error if it doesn't exist, or can't be inspected.
#[cfg(target_os = "linux")]
pub fn is_memory(path: &Path) -> io::Result<bool> {
    use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};

    /// linux/magic.h
    const RAMFS_MAGIC: FsType = FsType(0x8584_58f6);
    let kind = statfs(path)?.filesystem_type();
    Ok(kind == TMPFS_MAGIC || kind == RAMFS_MAGIC)
}

/// Returns `false`, because other systems are not supported.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn is_memory(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_directory_among_everybodys_is_this_users_alone() {
        let shared = Path::new("/dev/shm").join(format!("tessera-test-{}", std::process::id()));
        let directory = |path: &Path, is_in_shared_memory| MemoryDirectory {
            path: path.to_owned(),
            is_in_shared_memory,
        };
        let flaw = |path: &Path, shared| directory(path, shared).flaw().unwrap();
        let mode = |mode| fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).unwrap();
        fs::create_dir(&shared).unwrap();
        mode(0o700);
        assert_eq!((flaw(&shared, true), flaw(&shared, false)), (None, None));
        mode(0o755);
        assert!(flaw(&shared, true).unwrap().contains("chmod go= "));
        assert_eq!(flaw(&shared, false), None);
        mode(0o720);
        assert!(flaw(&shared, false).unwrap().contains("chmod go-w "));
        mode(0o700);
        let (link, file) = (shared.join("link"), shared.join("file"));
        symlink(&shared, &link).unwrap();
        fs::write(&file, "").unwrap();
        assert!(flaw(&link, true).unwrap().contains("not a directory"));
        assert_eq!(flaw(&link, false), None);
        assert!(flaw(&file, true).unwrap().contains("not a directory"));
        // Root can give its own away; other users can't own root's.
        let other = if nix::unistd::geteuid().is_root() {
            chown(&shared, Some(1), None).unwrap();
            shared.as_path()
        } else {
            Path::new("/")
        };
        assert!(flaw(other, true).unwrap().contains("another user"));
        fs::remove_dir_all(&shared).unwrap();
        directory(&shared, true).flaw().unwrap_err();
    }

    #[test]
    fn a_file_system_in_memory_is_recognised() {
        assert!(is_memory(Path::new("/dev/shm")).unwrap());
        assert!(!is_memory(Path::new("/proc")).unwrap());
        is_memory(Path::new("/no/such/path")).unwrap_err();
    }
}
