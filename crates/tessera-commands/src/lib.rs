//! The commands `tessera serve` and `tessera connect`: a TLS 1.3 server and client for the command line.
//!
//! [`serve`] listens, echoes or answers HTTP, and reports the facts of every connection; [`connect`] carries standard
//! input and output to a server. [`make_authority`], [`issue`] and [`make_key`] are `tessera certificate`.
#![forbid(unsafe_code)]

mod by_option;
mod certificate;
mod client;
mod contradictions;
mod counted;
mod datagram_facts;
mod issuing;
mod kems;
mod known_key;
mod listening;
mod options;
mod psk;
mod receive;
mod server;
mod trust;

pub use client::connect;
pub use issuing::{
    AuthorityOptions, IssueOptions, KEY_KINDS, KeyOptions, SubjectKey, issue, make_authority,
    make_key,
};
pub use options::{
    Answer, CertificateFiles, ClientCertificates, Common, ConnectOptions, EarlyData, Load,
    LoadMode, PskHash, PskOptions, ServeOptions, Tickets,
};
pub use server::serve;
pub use tessera_tokio::SocketPolicy;
