//! A clock that jumps or is wrong, for one process: by libfaketime.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::{Directory, Peer};

/// A wall clock for processes. It starts with the machine's time.
pub struct Clock {
    // libfaketime reads the file again on each call.
    directory: Directory,
    /// Its time for good.
    constant: Option<String>,
    served: Mutex<Vec<u32>>,
}

impl Clock {
    /// Creates a clock with the right time.
    #[track_caller]
    pub fn new() -> Self {
        // The library of this package is used.
        Peer::checked("faketime");
        let clock = Self { directory: Directory::new(), constant: None, served: Mutex::default() };
        clock.jump(0);
        clock
    }

    /// Creates a clock that is always off by this many seconds, for processes that confine themselves: they can't read
    /// the file of one that jumps.
    #[track_caller]
    pub fn off_by(seconds: i64) -> Self {
        let mut clock = Self::new();
        clock.constant = Some(format!("FAKETIME={seconds:+}"));
        clock
    }

    /// Sets it off by this many seconds from now on.
    pub fn jump(&self, seconds: i64) {
        self.directory.write(NEW, format!("{seconds:+}\n"));
        // Atomic for concurrent readers.
        let [new, now] = [NEW, NOW].map(|name| self.directory.path(name));
        fs::rename(new, now).expect("a temporary file can be renamed");
    }

    /// Returns the words before a program's name that apply this clock. Its monotonic clock stays the machine's.
    pub fn words(&self) -> [String; 5] {
        [
            // After privileges are dropped: only the peer's process loads the library.
            "env".into(),
            // The loader knows the directory of this machine's libraries.
            "LD_PRELOAD=/usr/$LIB/faketime/libfaketimeMT.so.1".into(),
            self.constant
                .clone()
                .unwrap_or_else(|| format!("FAKETIME_TIMESTAMP_FILE={}", self.directory.path(NOW))),
            "FAKETIME_NO_CACHE=1".into(),
            "FAKETIME_DONT_FAKE_MONOTONIC=1".into(),
        ]
    }
}

impl Clock {
    /// Registers the id of a process that was started with [`words`](Self::words).
    pub fn serves(&self, id: u32) {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }
}

/// libfaketime leaves its shared memory behind.
impl Drop for Clock {
    fn drop(&mut self) {
        for id in self.served.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            for file in [format!("faketime_shm_{id}"), format!("sem.faketime_sem_{id}")] {
                let _ = fs::remove_file(Path::new("/dev/shm").join(file));
            }
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

const NOW: &str = "now";
const NEW: &str = "new";
