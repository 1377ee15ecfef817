//! Transports: how messages and data travel. Streams now; datagrams will stand beside them.

mod padding;
mod stream;

pub use padding::Padding;
pub use stream::Output;
pub(crate) use stream::{Incoming, Stream, StreamTransport};
