//! Who waits for a connection: a task that reads, and maybe another that writes.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// The two directions of a stream, as tasks wait for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Read,
    Write,
}

/// Wakes both tasks.
///
/// A socket remembers one waker per direction, but under TLS the reader may have to write and the
/// writer may have to read. Where they do, the socket gets this one, so that neither takes the
/// other's wakeup away.
#[derive(Default)]
pub(crate) struct Wakers {
    waiting: Mutex<[Option<Waker>; 2]>,
}

impl Wakers {
    pub(crate) fn register(&self, half: Half, waker: &Waker) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = &mut waiting[half as usize];
        match slot {
            Some(old) => old.clone_from(waker),
            None => *slot = Some(waker.clone()),
        }
    }

    pub(crate) fn wake_all(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let [reader, writer] = &mut *waiting;
        let (reader, writer) = (reader.take(), writer.take());
        // A woken task may run at once, on another thread.
        drop(waiting);
        let same = matches!((&reader, &writer), (Some(a), Some(b)) if a.will_wake(b));
        if let Some(writer) = writer.filter(|_| !same) {
            writer.wake();
        }
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}
