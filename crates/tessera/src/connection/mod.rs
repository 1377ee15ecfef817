//! Faces: what a user holds of a connection, over a stream or over datagrams.

mod datagram;
mod stream;

pub use datagram::{
    Association, AssociationOptions, ClientAssociation, ConnectionIdUsage, HelloPart, HelloReader,
    IdleAssociation, PathCookie, PathMessage, ResetToken, ServerAssociation, connection_id_of,
    offers_psk, write_retry,
};
pub use stream::{ClientConnection, Connection, Progress, ReadEvent, ServerConnection};
