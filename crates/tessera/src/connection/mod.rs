//! Faces: what a user holds of a connection. Over a stream for now; datagrams and QUIC will follow.

mod stream;

pub use stream::{ClientConnection, Connection, Progress, ReadEvent, ServerConnection};
