//! Records, which carry messages and data. Over a stream for now; datagrams will follow.

mod stream;

pub use stream::{Batch, Output, Reassembly};
pub(crate) use stream::{HEADER_LEN, Incoming, Stream, StreamBelow};
