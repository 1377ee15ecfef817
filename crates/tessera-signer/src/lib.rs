//! Private keys of certificates in another process.
//!
//! A *signer* holds the keys. A server asks it for each full handshake: the engine's [`Sign`](tessera::handshake::Sign)
//! question, answered over mutual TLS. The signer signs the content of a server's CertificateVerify (RFC 8446 §4.4.3) and
//! nothing else, for clients whose certificate has a name that a key's `allow` lists, no faster than the key's `rate`. So the
//! thief of a server has no key, but its certificate for the signer: it completes handshakes in that name, at that rate,
//! until the name leaves `allow`.
//!
//! - [`RemoteSigner`] asks, as the [`Answers`](tessera_tokio::Answers) of a server on tokio; [`RemoteKey`] makes the
//!   [`Credential`](tessera::auth::Credential). A signature is verified with the certificate before it is used.
//! - `server` (feature `server`) answers; `run` and `check` are the commands of `tessera signer`.
//!
//! # The protocol
//!
//! TLS 1.3 with certificates for both ends, and the application protocol [`PROTOCOL`]. The client sends requests; the signer
//! answers each, in any order. Integers are big-endian.
//!
//! | request | content |
//! |---|---|
//! | sign | `1`, id (8 bytes), scheme (2), length of the name (1), length of the message (2), name, message |
//! | ping | `2`, id (8) |
//!
//! | answer | content |
//! |---|---|
//! | signed | `1`, id, length (2), signature |
//! | pong | `2`, id |
//! | refused | `3`, id, reason (1): see [`Refusal`] |
//!
//! A name has up to 255 bytes, a message up to 4,096, a signature up to 8,192; anything longer, and any other first byte, ends
//! the connection. A message is refused unless it is 64 spaces, `TLS 1.3, server CertificateVerify`, a zero byte, and a hash
//! of 32 or 48 bytes, as the suites of TLS 1.3 have them.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use tessera::handshake::Checked;
//! use tessera::{ClientConfig, ServerConfig};
//! use tessera_signer::{RemoteKey, RemoteSigner, SignerAddress, SignerLimits, client_config};
//! use tessera_tokio::{Acceptor, Connector};
//!
//! /// `to_signers` has this server's certificate for the signer, and the authority of signers.
//! fn acceptor(
//!     chain: Vec<Vec<u8>>,
//!     to_signers: ClientConfig,
//! ) -> Result<Acceptor, Box<dyn std::error::Error>> {
//!     let signers = vec![SignerAddress::new("signer.internal:9444")?];
//!     let connector = Connector::new(client_config(to_signers)?);
//!     let key = RemoteKey::new(chain, "www")?;
//!     let config = ServerConfig::new(tessera_aws_lc::provider(), vec![key.credential()]);
//!     let signer = RemoteSigner::open(&connector, signers, SignerLimits::default());
//!     signer.add(&key);
//!     Ok(Acceptor::new(config.checked()?).with_answers(Arc::new(signer)))
//! }
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "server")]
mod check;
mod client;
#[cfg(feature = "server")]
pub mod config;
#[cfg(feature = "server")]
mod confinement;
#[cfg(feature = "server")]
mod load;
#[cfg(feature = "server")]
mod run;
#[cfg(feature = "server")]
mod running;
#[cfg(feature = "server")]
pub mod server;
mod wire;

pub use client::{
    RemoteKey, RemoteKeyError, RemoteSigner, SignerAddress, SignerAddressError, SignerCounts,
    SignerLimits, client_config,
};
pub use wire::Refusal;

#[cfg(feature = "server")]
pub use self::check::{check, summary};
#[cfg(feature = "server")]
pub use self::run::run;

/// The application protocol (ALPN, RFC 7301): its name and its version.
pub const PROTOCOL: &[u8] = b"tessera-signer/1";
