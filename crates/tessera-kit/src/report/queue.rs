//! A queue of lines for a reader that may not read them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::line::LineWriter;
use super::warn;

/// Writes lines from its own thread, so that the caller never waits for a reader. If the reader is too slow,
/// or the disk full, lines are dropped, and a line in their place reports how many.
pub struct Queue(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// Total length of the lines.
    bytes: usize,
    /// How many lines were dropped since the last one in the queue.
    missed: u64,
    /// How many lines were dropped since the start.
    all_missed: u64,
    /// A line is being written.
    writing: bool,
    /// The last line could not be written.
    failing: bool,
    /// The first reason why a line could not be written.
    failed: Option<String>,
    ending: bool,
    /// The writer has written everything, or the reader is gone.
    over: bool,
}

/// Maximum number of queued bytes: the facts of a few thousand connections.
const ROOM: usize = 1024 * 1024;

impl Queue {
    /// Writes lines to `to`, which is called `name`; `missed` makes the line for dropped ones.
    ///
    /// # Errors
    /// Returns an error if no thread can be started.
    pub fn new(
        name: String,
        to: impl Write + Send + 'static,
        missed: fn(u64) -> Vec<u8>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let writer = shared.clone();
        thread::Builder::new().name("report".to_owned()).spawn(move || {
            writer.write(&name, to, missed);
            let mut state = writer.lock();
            *state = State {
                over: true,
                failed: state.failed.take(),
                all_missed: state.all_missed + state.lines.len() as u64,
                ..State::default()
            };
            writer.changed.notify_all();
        })?;
        Ok(Self(shared))
    }

    /// Queues a line, newline included, if there is room and a reader.
    pub fn push(&self, line: Vec<u8>) {
        let mut state = self.0.lock();
        if state.over || state.ending {
            state.all_missed += 1;
            return;
        }
        if state.bytes + line.len() > ROOM {
            state.missed += 1;
            state.all_missed += 1;
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        self.0.changed.notify_all();
    }

    /// Returns how many lines were dropped since the start.
    #[must_use]
    pub fn all_missed(&self) -> u64 {
        self.0.lock().all_missed
    }

    /// Waits until the lines are written, up to `patience`; returns what has failed so far.
    pub fn settle(&self, patience: Duration) -> Option<String> {
        let busy = |state: &mut State| !state.over && (state.writing || !state.lines.is_empty());
        let waiting = self.0.changed.wait_timeout_while(self.0.lock(), patience, busy);
        waiting.unwrap_or_else(PoisonError::into_inner).0.failed.clone()
    }

    /// Settles like [`settle`](Self::settle), and accepts no more lines.
    pub fn finish(&self, patience: Duration) -> Option<String> {
        let mut state = self.0.lock();
        state.ending = true;
        self.0.changed.notify_all();
        let waiting = self.0.changed.wait_timeout_while(state, patience, |state| !state.over);
        waiting.unwrap_or_else(PoisonError::into_inner).0.failed.clone()
    }
}

/// The writer's next step.
enum Next {
    Line(Vec<u8>),
    Missed(u64),
    End,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, name: &str, to: impl Write, missed: fn(u64) -> Vec<u8>) {
        let mut to = LineWriter::new(to);
        loop {
            let (line, count, is_line) = match self.next() {
                Next::Line(line) => (line, 1, true),
                Next::Missed(count) => (missed(count), count, false),
                Next::End => return,
            };
            let written = to.write(&line);
            let mut state = self.lock();
            state.writing = false;
            match written {
                Ok(()) => state.failing = false,
                // The reader closed the pipe.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    state.all_missed += u64::from(is_line);
                    return;
                }
                Err(error) => {
                    if !state.failing {
                        warn(name, &error);
                    }
                    state.missed += count;
                    state.all_missed += u64::from(is_line);
                    state.failing = true;
                    state.failed.get_or_insert(error.to_string());
                }
            }
            self.changed.notify_all();
        }
    }

    /// Waits for the next line.
    fn next(&self) -> Next {
        // The number of dropped lines is reported once a line was written again.
        let idle = |state: &mut State| {
            state.lines.is_empty() && (state.missed == 0 || state.failing) && !state.ending
        };
        let waiting = self.changed.wait_while(self.lock(), idle);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = state.lines.pop_front() {
            state.bytes -= line.len();
            state.writing = true;
            return Next::Line(line);
        }
        match std::mem::take(&mut state.missed) {
            0 => Next::End,
            // Ending allows one last attempt, which was the previous line.
            _ if state.failing => Next::End,
            count => {
                state.writing = true;
                Next::Missed(count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// A reader that takes a line only when the test wants.
    struct SlowReader(SyncSender<Vec<u8>>);

    impl Write for SlowReader {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            let sent = self.0.send(line.to_vec());
            sent.map(|()| line.len()).map_err(|_| ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn queue() -> (Queue, Receiver<Vec<u8>>) {
        let (sender, reader) = sync_channel(0);
        let missed = |count| format!("{count} missed").into_bytes();
        (Queue::new("a test's".to_owned(), SlowReader(sender), missed).unwrap(), reader)
    }

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn queued_lines_arrive_in_order_and_the_end_waits_for_them() {
        let (queue, reader) = queue();
        let lines: Vec<_> = (0..100_u8).map(|line| vec![line]).collect();
        lines.iter().cloned().for_each(|line| queue.push(line));
        let read = thread::spawn(move || reader.iter().collect::<Vec<_>>());
        assert_eq!(queue.finish(PATIENCE), None);
        queue.push(b"too late".to_vec());
        assert_eq!(read.join().unwrap(), lines);
    }

    #[test]
    fn unread_queued_lines_are_left_out_and_counted() {
        let (queue, reader) = queue();
        let line = vec![7; 1000];
        // No caller waits, and memory is bounded. The writer may have taken one line.
        (0..5000).for_each(|_| queue.push(line.clone()));
        let missed = queue.0.lock().missed;
        let room = ROOM as u64 / 1000;
        assert!((room..=room + 1).contains(&(5000 - missed)), "{missed}");
        assert_eq!(queue.all_missed(), missed);
        assert_eq!(queue.finish(Duration::from_millis(1)), None);
        let read: Vec<_> = reader.iter().collect();
        assert_eq!(read.len() as u64, 5000 - missed + 1);
        assert_eq!(read.last().unwrap(), format!("{missed} missed").as_bytes());
    }

    #[test]
    fn a_queue_whose_reader_is_gone_drops_its_lines() {
        let (queue, reader) = queue();
        drop(reader);
        (0..5000).for_each(|_| queue.push(vec![7; 1000]));
        assert_eq!(queue.finish(PATIENCE), None, "no reader wants them");
        assert!(queue.0.lock().lines.is_empty());
        assert_eq!(queue.all_missed(), 5000);
    }

    /// A disk that is full while the flag is set.
    struct Disk(Arc<Mutex<(Vec<u8>, bool)>>);

    impl Write for Disk {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            let mut disk = self.0.lock().unwrap();
            if disk.1 {
                return Err(ErrorKind::StorageFull.into());
            }
            disk.0.extend_from_slice(line);
            Ok(line.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn writing_resumes_when_a_full_disk_has_room_and_the_end_reports_missing_lines() {
        let disk = Arc::new(Mutex::new((Vec::new(), true)));
        let missed = |count| format!("{count} missed\n").into_bytes();
        let queue = Queue::new("a test's".to_owned(), Disk(disk.clone()), missed).unwrap();
        for line in [b"one\n", b"two\n"] {
            queue.push(line.to_vec());
            assert!(queue.settle(PATIENCE).is_some());
        }
        disk.lock().unwrap().1 = false;
        queue.push(b"three\n".to_vec());
        assert!(queue.finish(PATIENCE).is_some());
        assert_eq!(disk.lock().unwrap().0, b"three\n2 missed\n");
        assert_eq!(queue.all_missed(), 2);
    }

    #[test]
    fn a_disk_that_stays_full_ends_with_its_queue() {
        let disk = Arc::new(Mutex::new((Vec::new(), true)));
        let queue = Queue::new("a test's".to_owned(), Disk(disk.clone()), |_| vec![7]).unwrap();
        (0..1000).for_each(|_| queue.push(vec![7; 2000]));
        assert!(queue.finish(PATIENCE).is_some());
        assert!(queue.0.lock().over);
        assert_eq!(disk.lock().unwrap().0, b"");
    }
}
