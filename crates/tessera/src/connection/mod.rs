//! Faces: what a user holds of a connection. Over a stream now; datagrams and QUIC will stand beside it.

mod stream;

pub use stream::{ClientConnection, Connection, Progress, ReadEvent, ServerConnection};
