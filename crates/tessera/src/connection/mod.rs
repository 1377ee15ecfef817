//! Faces: what a user holds of a connection, over a stream or over datagrams.

mod datagram;
mod path_message;
mod stream;

pub use datagram::{
    Association, AssociationOptions, ClientAssociation, ConnectionIdUsage, HelloPart, HelloReader,
    IdleAssociation, ResetToken, ServerAddress, ServerAssociation, connection_id_of,
    offers_extension, write_retry,
};
pub use path_message::{PathCookie, PathMessage};
pub use stream::{ClientConnection, Connection, Progress, ReadEvent, ServerConnection};
