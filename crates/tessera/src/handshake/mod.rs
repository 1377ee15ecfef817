//! The handshake: the states of client and server, one file per flight, and the questions they ask.
//!
//! It takes messages and answers; it gives messages, secrets and events to a transport. It never
//! seals a record, and it doesn't know whether it runs over a stream, datagrams or QUIC.

#![allow(clippy::boxed_local, reason = "states move in their boxes from one to the next")]

mod application;
mod client;
mod config;
mod context;
mod driven;
mod event;
mod facts;
mod question;
mod secrets;
mod server;
mod transport;

pub use client::ClientHandshake;
pub use client::{ClientConfig, Destination};
pub use config::Checked;
pub use context::Context;
pub use driven::Handshake;
pub use event::Event;
pub use facts::{EarlyDataStatus, Facts};
pub use question::{
    Asked, AskedByClient, AskedByServer, ChooseConfig, ClientAnswer, ClientQuestion, NoConfig,
    Question, Reply, ServerAnswer, ServerQuestion, Sign, Token,
};
pub use server::ServerHandshake;
pub use server::{ClientAuthentication, ConfigChooser, ServerConfig};
pub(crate) use transport::{Epoch, SkipEarlyData, Transport};
