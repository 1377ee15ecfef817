//! TLS 1.3 on devices: streams over `embedded-io`, in memory that the caller lends.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod acceptor;
#[cfg(feature = "async")]
mod asynchronous;
mod blocking;
mod buffers;
mod connector;
mod error;
mod input;
mod machine;
mod outgoing;
#[cfg(feature = "storage")]
mod storage;
mod stream;

pub use acceptor::Acceptor;
pub use buffers::{Buffer, BufferTooSmall, Buffers, LARGEST_INPUT, input_len, output_len};
pub use connector::Connector;
pub use error::Error;
#[cfg(feature = "storage")]
pub use storage::{SessionStorage, StorageError};
pub use stream::{ClientStream, ServerStream, TlsStream};
