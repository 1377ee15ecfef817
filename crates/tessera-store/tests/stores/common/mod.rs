//! Shared by the tests: a private directory.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of one test, which it removes at its end.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Self {
        Self::new_in(&std::env::temp_dir())
    }

    pub fn new_in(parent: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("tessera-store-{}-{number}", process::id()));
        DirBuilder::new().mode(0o700).create(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file of its store.
    pub fn store(&self) -> PathBuf {
        self.0.join("store")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the command that runs a test of this program alone, by its full name, in a process of its own.
pub fn this_test(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture"]).env("STORE_CHILD", "1");
    command
}

/// Whether this process was started with [`this_test`].
pub fn is_child() -> bool {
    std::env::var_os("STORE_CHILD").is_some()
}
