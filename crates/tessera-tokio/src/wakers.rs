//! The tasks that wait for a connection: a reader, and maybe a writer.

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
/// A socket remembers one waker per direction, but under TLS the reader may have to write and the writer may
/// have to read. Then the socket gets this waker, so that neither half replaces the other's.
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

    /// Wakes the task of the other half. The one that drives the connection is awake: waking it too would
    /// only poll it once more, maybe on another thread.
    pub(crate) fn wake_other(&self, half: Half) {
        let other = match half {
            Half::Read => Half::Write,
            Half::Write => Half::Read,
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waker = waiting[other as usize].take();
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_half_that_drives_a_stream_does_not_wake_itself() {
        let wakers = Wakers::default();
        let (reader, writer) = (Arc::new(Count::default()), Arc::new(Count::default()));
        wakers.register(Half::Read, &reader.clone().into());
        wakers.register(Half::Write, &writer.clone().into());
        let woken = || (reader.0.load(Ordering::Relaxed), writer.0.load(Ordering::Relaxed));
        wakers.wake_other(Half::Read);
        assert_eq!(woken(), (0, 1));
        wakers.wake_other(Half::Read);
        assert_eq!(woken(), (0, 1), "no task waits twice");
        wakers.wake_other(Half::Write);
        assert_eq!(woken(), (1, 1));
    }
}
