//! A connection's stream, and what it tells of its first flight.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use tessera_tokio::{StreamUse, TrackedStream, Tracker};

use super::Connection;
use crate::http::client::connect::Stream;
use crate::http::client::flight::Progress;

/// A stream that tells its connection's record what becomes of its first flight, and that it reads and writes.
pub(in crate::http::client) type Watched = TrackedStream<Stream, Watch>;

/// What a connection is told of its stream.
pub(in crate::http::client) struct Watch {
    connection: Arc<Connection>,
    /// The first flight isn't answered for.
    in_flight: bool,
}

pub(super) fn watched(stream: Stream, connection: Arc<Connection>) -> Watched {
    let mut tracker = Watch { connection, in_flight: true };
    tracker.look(&stream);
    TrackedStream { stream, tracker }
}

impl Watch {
    /// After each use of the stream, until the flight is answered for.
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
