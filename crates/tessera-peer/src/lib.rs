//! A TLS 1.3 server and client to talk to: what `tessera serve` and `tessera connect` do.
//!
//! [`serve`] listens, echoes or answers HTTP, and tells the facts of every connection; [`connect`]
//! carries standard input and output to a server.
#![forbid(unsafe_code)]

mod certificate;
mod client;
mod counted;
mod error;
mod facts;
mod hex;
mod key_log;
mod names;
mod open_files;
mod options;
mod pem;
mod psk;
mod receive;
mod report;
mod runtime;
mod server;
mod signals;
mod trust;

pub use client::connect;
pub use error::PeerError;
pub use names::{group, suite};
pub use options::{
    Answer, CertificateFiles, ClientCertificates, Common, ConnectOptions, EarlyData, Load,
    LoadMode, PskHash, PskOptions, ServeOptions, Tickets,
};
pub use psk::NamedKey;
pub use server::serve;
