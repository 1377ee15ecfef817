//! Where secrets outlive the process and not the power: file systems that are memory.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

/// The directory for files of this program that need not outlive the power, by the names that a service
/// and a session give it: `$RUNTIME_DIRECTORY` (systemd.exec(5)), for root `/run` and the program's name,
/// else the name below `$XDG_RUNTIME_DIR`. `None` if nobody named one. It may not exist, and whether it
/// is memory is said by [`is_memory`].
#[must_use]
pub fn runtime_directory(program: &str) -> Option<PathBuf> {
    let named = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = named("RUNTIME_DIRECTORY").or_else(|| {
        if nix::unistd::geteuid().is_root() {
            // Root's own session directory goes when root logs out.
            return Some(Path::new("/run").join(program));
        }
        named("XDG_RUNTIME_DIR").map(|directory| directory.join(program))
    })?;
    // A service may have several; the first is its own.
    let first = directory.to_str().and_then(|it| it.split(':').next()).map(PathBuf::from);
    first.or(Some(directory)).filter(|directory| directory.is_absolute())
}

/// Whether a file or directory lies in memory (tmpfs or ramfs), so that it ends with the power. Pages of a
/// tmpfs may be written to swap.
///
/// # Errors
/// If it isn't there, or can't be asked.
#[cfg(target_os = "linux")]
pub fn is_memory(path: &Path) -> io::Result<bool> {
    use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};

    /// linux/magic.h
    const RAMFS_MAGIC: FsType = FsType(0x8584_58f6);
    let kind = statfs(path)?.filesystem_type();
    Ok(kind == TMPFS_MAGIC || kind == RAMFS_MAGIC)
}

/// Elsewhere nothing is known of it.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn is_memory(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_from_what_is_none() {
        assert!(is_memory(Path::new("/dev/shm")).unwrap());
        assert!(!is_memory(Path::new("/proc")).unwrap());
        is_memory(Path::new("/no/such/path")).unwrap_err();
    }
}
