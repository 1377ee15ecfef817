//! An unmodified rustls whose peers send each certificate chain once.
//!
//! rustls lets applications compress certificates (RFC 8879) with algorithms of any number. Here an algorithm is a
//! chain: a peer that offers its number has the chain already, and gets its hash instead. The chain is verified as
//! ever, and the signature covers the messages as they were sent; a peer without this gets whole certificates. The
//! specification is `docs/cached-handshakes.md`; this crate implements its *public ids*, for peers that can't send its
//! extension.
//!
//! [`CachedChains`] is all that a program needs. It extends configurations, and learns from complete connections:
//!
//! ```
//! # use std::sync::Arc;
//! # use rustls::pki_types::{CertificateDer, ServerName};
//! # use rustls::{ClientConfig, ClientConnection, Error};
//! use tessera_rustls_cached::{CachedChains, Destination};
//!
//! # fn connect(cached: &CachedChains, config: &ClientConfig, own: &[CertificateDer<'_>]) -> Result<(), Error> {
//! let to = Destination::new("server.example", 443, config);
//! let config = Arc::new(cached.client_config(config, &to, own));
//! # let name = ServerName::try_from("server.example").map_err(|error| Error::General(error.to_string()))?;
//! let connection = ClientConnection::new(config, name)?;
//! // ... and after the handshake:
//! cached.learn_server(&to, &connection);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod cached_chains;
mod certificates;
mod chain;
mod codecs;
mod loopback;
mod message;

pub use cached_chains::{CachedChains, Destination};
pub use certificates::{Certificates, KeyKind, SERVER_NAME};
pub use chain::{Chain, Hash};
pub use loopback::{Bytes, Ends, HandshakeResult, connect};
pub use message::{AbbreviatedCertificate, abbreviate, restore};
