//! A stream that counts its bytes.

use std::io;
use std::task::{Context, Poll};

use tessera_tokio::{StreamUse, TrackedStream, Tracker};

/// Counts what goes over the network, records and all.
pub(crate) type CountedStream<IO> = TrackedStream<IO, Bytes>;

/// How many bytes went over a stream.
#[derive(Default)]
pub(crate) struct Bytes {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

impl<IO> Tracker<IO> for Bytes {
    fn after(
        &mut self,
        _: &mut IO,
        what: StreamUse,
        moved: Poll<io::Result<usize>>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = moved {
            let bytes = if what == StreamUse::Read { &mut self.received } else { &mut self.sent };
            *bytes += count as u64;
        }
        moved
    }
}
