//! The handshake: the states of client and server, one file per flight, and the questions they ask.
//!
//! It takes messages and answers; it gives messages, secrets and events to a transport. It never
//! seals a record, and it doesn't know whether it runs over a stream, datagrams or QUIC.

mod application;
mod client;
mod context;
mod event;
mod facts;
mod question;
mod server;
mod transport;

pub use client::{ClientConfig, Destination};
pub(crate) use application::Application;
pub(crate) use client::ClientHandshake;
pub(crate) use context::Context;
pub use event::Event;
pub use facts::{EarlyDataStatus, Facts};
pub use question::{
    AskedByClient, AskedByServer, Asked, ChooseConfig, ClientAnswer, ClientQuestion, NoConfig,
    Question, Reply, ServerAnswer, ServerQuestion, Sign, Token,
};
pub use server::{ClientAuthentication, ConfigChooser, ServerConfig};
pub(crate) use server::ServerHandshake;
pub(crate) use transport::{Epoch, SkipEarlyData, Transport};
