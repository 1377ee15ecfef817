//! Lines on their way to someone who may not read them.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Writes lines from a thread of its own: whoever has a line never waits for a reader. Where the reader
/// is too slow lines are left out, and a line in their place says how many.
pub(crate) struct Queue(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// How long the lines are, all together.
    bytes: usize,
    /// How many lines there was no room for since the last that is here.
    missed: u64,
    ending: bool,
    /// The writer has written everything, or can't write any more.
    over: bool,
}

/// As much waits, in bytes: a few thousand connections' facts.
const ROOM: usize = 1024 * 1024;

impl Queue {
    /// Writes lines to `to`; `missed` makes the line for those that are left out.
    pub(crate) fn new(
        to: impl Write + Send + 'static,
        missed: fn(u64) -> Vec<u8>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let writer = shared.clone();
        thread::Builder::new().name("report".to_owned()).spawn(move || {
            // Whoever stopped reading is not told why.
            let _ = writer.write(to, missed);
            let mut state = writer.lock();
            *state = State { over: true, ..State::default() };
            writer.changed.notify_all();
        })?;
        Ok(Self(shared))
    }

    /// Takes a line, if there is room and a reader.
    pub(crate) fn push(&self, line: Vec<u8>) {
        let mut state = self.0.lock();
        if state.over || state.ending {
            return;
        }
        if state.bytes + line.len() > ROOM {
            state.missed += 1;
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        self.0.changed.notify_all();
    }

    /// Takes no more lines, and waits until they are written, but no longer than this.
    pub(crate) fn finish(&self, patience: Duration) {
        let mut state = self.0.lock();
        state.ending = true;
        self.0.changed.notify_all();
        let waiting = self.0.changed.wait_timeout_while(state, patience, |state| !state.over);
        drop(waiting);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, mut to: impl Write, missed: fn(u64) -> Vec<u8>) -> io::Result<()> {
        while let Some(line) = self.next(missed) {
            to.write_all(&line)?;
            to.flush()?;
        }
        Ok(())
    }

    /// Waits for the next line; `None` at the end.
    fn next(&self, missed: fn(u64) -> Vec<u8>) -> Option<Vec<u8>> {
        let idle = |state: &mut State| state.lines.is_empty() && state.missed == 0 && !state.ending;
        let waiting = self.changed.wait_while(self.lock(), idle);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = state.lines.pop_front() {
            state.bytes -= line.len();
            return Some(line);
        }
        match std::mem::take(&mut state.missed) {
            0 => None,
            count => Some(missed(count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// A reader that takes a line when it likes.
    struct Slow(SyncSender<Vec<u8>>);

    impl Write for Slow {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            let sent = self.0.send(line.to_vec());
            sent.map(|()| line.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn queue() -> (Queue, Receiver<Vec<u8>>) {
        let (sender, reader) = sync_channel(0);
        (Queue::new(Slow(sender), |count| format!("{count} missed").into_bytes()).unwrap(), reader)
    }

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn queued_lines_arrive_in_order_and_the_end_waits_for_them() {
        let (queue, reader) = queue();
        let lines: Vec<_> = (0..100_u8).map(|line| vec![line]).collect();
        lines.iter().cloned().for_each(|line| queue.push(line));
        let read = thread::spawn(move || reader.iter().collect::<Vec<_>>());
        queue.finish(PATIENCE);
        queue.push(b"too late".to_vec());
        assert_eq!(read.join().unwrap(), lines);
    }

    #[test]
    fn queued_lines_that_nobody_reads_are_left_out_and_counted() {
        let (queue, reader) = queue();
        let line = vec![7; 1000];
        // Nobody waits, and memory is bounded. The writer may have taken one line.
        (0..5000).for_each(|_| queue.push(line.clone()));
        let missed = queue.0.lock().missed;
        let room = ROOM as u64 / 1000;
        assert!((room..=room + 1).contains(&(5000 - missed)), "{missed}");
        queue.finish(Duration::from_millis(1));
        let read: Vec<_> = reader.iter().collect();
        assert_eq!(read.len() as u64, 5000 - missed + 1);
        assert_eq!(read.last().unwrap(), format!("{missed} missed").as_bytes());
    }

    #[test]
    fn a_queue_whose_reader_is_gone_drops_its_lines() {
        let (queue, reader) = queue();
        drop(reader);
        (0..5000).for_each(|_| queue.push(vec![7; 1000]));
        queue.finish(PATIENCE);
        assert!(queue.0.lock().lines.is_empty());
    }
}
