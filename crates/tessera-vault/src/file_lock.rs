//! The lock of a file, which ends when its holder drops it.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut};

/// A file that this process has locked.
///
/// Closing a locked file unlocks it only once every copy of its descriptor is closed, and a child process that another
/// thread is starting has one until it executes. So this unlocks it on drop.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks a file without waiting.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if another process, or another open file of this one, holds the lock.
    pub fn try_new(file: File) -> Result<Self, TryLockError> {
        file.try_lock().map(|()| Self(file))
    }

    /// Waits for the lock of a file.
    ///
    /// # Errors
    /// Returns an error if the file can't be locked at all.
    pub fn wait(file: File) -> io::Result<Self> {
        file.lock().map(|()| Self(file))
    }
}

impl Deref for FileLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for FileLock {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // It is closed next, which unlocks it as well.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_with_its_holder_whatever_copies_of_its_descriptor_are_open() {
        let path = std::env::temp_dir().join(format!("tessera-lock-{}", std::process::id()));
        let open = || File::create(&path).unwrap();
        let lock = FileLock::try_new(open()).unwrap();
        let copy = lock.try_clone().unwrap();
        assert!(matches!(FileLock::try_new(open()), Err(TryLockError::WouldBlock)));
        drop(lock);
        drop(FileLock::try_new(open()).unwrap());
        FileLock::wait(open()).unwrap();
        drop(copy);
        std::fs::remove_file(&path).unwrap();
    }
}
