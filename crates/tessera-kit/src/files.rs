//! Files named by settings: regular, of bounded length, and read within the time of a reload.

use std::cell::Cell;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use zeroize::Zeroizing;

use crate::error::ProgramError;
use crate::setting::SettingFile;

/// Reads a file that a setting names, up to `max_len` bytes. It may hold keys, so the bytes are wiped when
/// dropped.
///
/// # Errors
/// Returns an error if it can't be read, is not a regular file, or is longer.
pub fn read(file: SettingFile<'_>, max_len: usize) -> Result<Zeroizing<Vec<u8>>, ProgramError> {
    let bytes = read_path(file.path, max_len);
    bytes.map_err(|error| ProgramError::input(file, &error))
}

/// Reads a file like [`read`], as UTF-8.
///
/// # Errors
/// As for [`read`], or if it is not UTF-8.
pub fn read_text(file: SettingFile<'_>, max_len: usize) -> Result<Zeroizing<String>, ProgramError> {
    let mut bytes = read(file, max_len)?;
    String::from_utf8(std::mem::take(&mut *bytes)).map(Zeroizing::new).map_err(|error| {
        drop(Zeroizing::new(error.into_bytes()));
        ProgramError::in_file(file.path, "this is not UTF-8; save it as UTF-8")
    })
}

/// Reads a file like [`read`], for a path that no setting names.
///
/// # Errors
/// Returns an error if it can't be read, is not a regular file, or is longer.
pub fn read_path(path: &Path, max_len: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let path = path.to_owned();
    in_time(move || read_whole(&mut open(&path)?.0, max_len))
}

/// Runs a reload whose file reads fail after `limit`, so that an unresponsive file system (NFS, FUSE) blocks
/// neither this reload nor the next one. Applies to this thread.
pub fn within<T>(limit: Duration, reload: impl FnOnce() -> T) -> T {
    /// Restores the earlier deadline, even if the reload panics.
    struct Restore(Option<Instant>);

    impl Drop for Restore {
        fn drop(&mut self) {
            DEADLINE.set(self.0);
        }
    }

    let _restore = Restore(DEADLINE.replace(Instant::now().checked_add(limit)));
    reload()
}

/// Returns how long reads of this thread may still take; `None` means no limit.
#[must_use]
pub fn time_left() -> Option<Duration> {
    Some(DEADLINE.get()?.saturating_duration_since(Instant::now()))
}

/// Time limit for a reload's reads: plenty for a busy disk, and less than a supervisor waits
/// (`TimeoutStartSec=`).
pub const RELOAD_LIMIT: Duration = Duration::from_secs(20);

thread_local! {
    /// When reads of this thread fail; `None` means never.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Runs a file system operation. Under a deadline it runs on another thread, because a blocked system call
/// can't be cancelled. Late results are dropped.
pub(crate) fn in_time<T: Send + 'static>(
    ask: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    /// Threads that still wait, or have just ended.
    static WAITING: AtomicUsize = AtomicUsize::new(0);

    struct WaitCount;

    impl Drop for WaitCount {
        fn drop(&mut self) {
            WAITING.fetch_sub(1, Ordering::Relaxed);
        }
    }

    let Some(left) = time_left() else { return ask() };
    if WAITING.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
        WAITING.fetch_sub(1, Ordering::Relaxed);
        return Err(io::Error::other(
            "earlier reloads still wait for a file system that does not answer",
        ));
    }
    let waits = WaitCount;
    let (answer, answered) = mpsc::sync_channel(1);
    thread::Builder::new().name("files".to_owned()).spawn(move || {
        let _waits = waits;
        // The deadline may have passed.
        let _ = answer.send(ask());
    })?;
    answered.recv_timeout(left).unwrap_or_else(|_| {
        let what = "its file system did not answer within the time of a reload";
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    })
}

/// Maximum number of waiting reads; each holds a thread.
const MOST_WAITING: usize = 16;

/// Opens a file for reading, following links. Pipes and devices are refused without waiting for their other
/// end.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other(NOT_REGULAR));
    }
    Ok((file, metadata))
}

/// For pipes, devices and sockets.
const NOT_REGULAR: &str = "this is a pipe, a device or a socket, and a regular file is needed";

/// Reads the whole file, unless it is longer.
pub(crate) fn read_whole(file: &mut File, max_len: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let expected = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let too_long = || io::Error::other(format!("too long: at most {max_len} bytes are allowed"));
    if expected > max_len {
        return Err(too_long());
    }
    // A vector that grows by itself leaves secrets in the memory it frees. One extra byte detects the end.
    let mut bytes = Zeroizing::new(vec![0; expected + 1]);
    let mut len = 0;
    loop {
        len += read_into(file, bytes.get_mut(len..).unwrap_or_default())?;
        if len > max_len {
            return Err(too_long());
        }
        if len < bytes.len() {
            bytes.truncate(len);
            return Ok(bytes);
        }
        let mut longer = Zeroizing::new(vec![0; bytes.len().saturating_mul(2).min(max_len + 1)]);
        longer.iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
        bytes = longer;
    }
}

/// Reads to the end, or until the buffer is full; returns how many bytes.
pub(crate) fn read_into(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while let Some(room @ [_, ..]) = bytes.get_mut(len..) {
        match file.read(room) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A single test, because the count of waiting reads is global.
    #[test]
    fn a_file_system_that_does_not_answer_ends_one_reload_and_no_other_until_too_many_wait() {
        let (answers, asked) = mpsc::channel::<()>();
        let asked = Arc::new(Mutex::new(asked));
        let hangs = || {
            let asked = asked.clone();
            move || {
                // Blocks until the end of the test.
                let _ = asked.lock().map(|asked| asked.recv());
                Ok(1)
            }
        };
        let late = within(Duration::from_millis(20), || in_time(hangs()).unwrap_err());
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert_eq!(within(Duration::from_secs(60), || in_time(|| Ok(2)).unwrap()), 2);
        assert_eq!(time_left(), None);

        let refused = (0..=MOST_WAITING).find_map(|_| {
            let error = within(Duration::ZERO, || in_time(hangs()).unwrap_err());
            (error.kind() != io::ErrorKind::TimedOut).then(|| error.to_string())
        });
        assert!(refused.is_some_and(|error| error.contains("earlier reloads")));
        drop(answers);
    }
}
