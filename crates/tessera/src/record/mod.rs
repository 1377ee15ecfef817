//! Records, which carry messages and data: over a stream, or over datagrams.

mod datagram;
mod stream;

pub use datagram::DroppedRecords;
pub(crate) use datagram::{
    APPLICATION_EPOCH, DatagramBelow, Datagrams, EARLY_DATA_EPOCH, FirstRecords, Forgeries,
    IdleDatagrams, NextRecord, OpenedRecord, SHORTEST_DATAGRAM, write_lone_message,
};
pub use stream::{Batch, Output, Reassembly};
pub(crate) use stream::{HEADER_LEN, Incoming, Stream, StreamBelow};
