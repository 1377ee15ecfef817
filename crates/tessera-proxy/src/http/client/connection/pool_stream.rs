//! A connection's stream, which reports the progress of its first flight.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use tessera_tokio::{StreamUse, TrackedStream, Tracker};

use super::Connection;
use crate::http::client::connect::Stream;
use crate::http::client::flight::Progress;

/// A stream that reports the state of its first flight, and its reads and writes, to its connection.
pub(in crate::http::client) type PoolStream = TrackedStream<Stream, Watch>;

/// Reports a stream's use to its connection.
pub(in crate::http::client) struct Watch {
    connection: Arc<Connection>,
    /// The first flight is unanswered.
    in_flight: bool,
}

pub(super) fn watched(stream: Stream, connection: Arc<Connection>) -> PoolStream {
    let mut tracker = Watch { connection, in_flight: true };
    tracker.look(&stream);
    TrackedStream { stream, tracker }
}

impl Watch {
    /// Checks the stream after each use, until the flight is answered.
    fn look(&mut self, stream: &Stream) {
        let progress = match stream {
            Stream::Tls(stream) => self.connection.flight.look(stream),
            Stream::Plain(_) => Progress::Settled,
        };
        match progress {
            Progress::UnderWay => return,
            Progress::Settled => self.connection.settle(),
            Progress::Failed => self.connection.retire(),
        }
        self.in_flight = false;
    }
}

impl Tracker<Stream> for Watch {
    fn before(&mut self, _: &mut Stream, what: StreamUse) -> io::Result<()> {
        if what == StreamUse::Write {
            self.connection.note_write();
        }
        Ok(())
    }

    fn after(
        &mut self,
        stream: &mut Stream,
        what: StreamUse,
        moved: Poll<io::Result<usize>>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if what == StreamUse::Read && moved.is_ready() {
            self.connection.note_read();
        }
        if self.in_flight {
            self.look(stream);
        }
        moved
    }
}
