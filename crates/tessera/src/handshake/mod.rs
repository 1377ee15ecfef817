//! The handshake.

mod question;

pub use question::Reply;
