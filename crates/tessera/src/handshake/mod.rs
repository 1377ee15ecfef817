//! The handshake: the states of client and server, one file per flight, and the questions they ask.
//!
//! It takes messages and answers; it passes messages, secrets and limits to whatever is `below` it,
//! and events to the user. It never seals a record. The differences between TLS, DTLS and QUIC in a
//! handshake are a value that it carries, `schedule::Profile`.

#![allow(clippy::boxed_local, reason = "states move in their boxes from one to the next")]

mod application;
mod below;
mod certificate_flight;
mod client;
mod config;
pub(crate) mod context;
mod core;
mod event;
mod facts;
mod finished;
mod frozen;
mod grease;
mod handover;
mod heap;
mod idle;
mod idle_facts;
mod kem_flight;
mod lineage;
mod secrets;
mod server;
mod state;
mod withdrawal;

pub use below::{Below, Direction, Epoch, Limit, RefusedEarlyData};
pub use client::{ClientConfig, ClientQuestion, Destination};
pub use config::Checked;
pub use core::{ClientHandshake, Core, Handshake, ServerHandshake};
pub use event::Event;
pub use facts::{CertificateTransfer, EarlyDataStatus, Facts};
pub(crate) use frozen::CoreWithoutSecrets;
pub(crate) use idle::IdleCore;
pub use server::{
    Arrival, ChooseConfig, ClientAuthentication, ConfigChooser, NoConfig, RetryState, ServerConfig,
    ServerQuestion,
};

pub use withdrawal::Foundation;

pub use crate::auth::{Decapsulate, Sign};
pub use crate::question::{OpenQuestion, Question, Reply, Token};
