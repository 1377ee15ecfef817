//! Records: how messages and data travel. Over a stream now; datagrams will stand beside them.

mod stream;

pub use stream::{Batch, Output, Reassembly};
pub(crate) use stream::{HEADER_LEN, Incoming, Stream, StreamBelow};
