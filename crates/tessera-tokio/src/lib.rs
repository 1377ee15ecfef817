//! Tessera on tokio: TLS 1.3 streams that reconnect fast, with early data that is forward-secret and accepted
//! at most once.
//!
//! - [`Connector`] and [`Acceptor`] make [`TlsStream`]s over any [`AsyncRead`] and [`AsyncWrite`]: sockets,
//!   pipes, other streams.
//! - [`Connector::connect_with_early_data`] sends data with the first flight and reports what became of it;
//!   [`Acceptor::accept_early`] answers it before the handshake is complete.
//! - [`Connector::first_flight`] makes a [`FirstFlight`]: a client's stream whose first writes travel as
//!   early data, for programs that know nothing of it, such as HTTP clients.
//! - [`Server`] accepts TCP connections within [`Limits`]: no address can take all of it, and a client that
//!   neither sends nor reads loses its place. [`TlsListener`] hands its clients to programs with their own
//!   accept loop, such as HTTP servers. A [`Gate`] has the same limits for other kinds of sockets.
//! - [`SessionStore`]s keep a client's sessions for its next connections: [`MemorySessionStore`], and
//!   [`FileSessionStore`] for processes that share them.
//! - [`fast_open`] sends and receives first flights in TCP's SYN (RFC 7413). Off by default.
//! - [`DatagramConnector`] and [`DatagramListener`] do the same over UDP: DTLS 1.3, whose connections survive a change of
//!   the client's address.
//! - [`Answers`] answers what a configuration leaves for later.
//! - The feature `http` adds the module `http`: early data in HTTP (RFC 8470).
//!
//! Requires a tokio runtime with time enabled: handshakes that take too long are ended.
//!
//! # From PEM files to the first byte
//!
//! `examples/first_byte.rs` has the following as one program. In the repository:
//! `cargo run -p tessera-tokio --example first_byte`. The code needs these crates:
//!
//! ```text
//! cargo add tessera-tls tessera-aws-lc tessera-tokio tessera-vault tessera-webpki
//! cargo add rustls-pki-types --rename pki-types --features std
//! cargo add tokio --features io-util,macros,net,rt-multi-thread
//! ```
//!
//! The library of the package `tessera-tls` is called `tessera`. The example reads PKCS#8 private keys;
//! `tessera_kit::credential::load` (crate `tessera-kit`) replaces the five lines under "The certificate". It
//! also reads SEC 1 and PKCS#1 and checks that key and certificate match, and its errors name the file.
//!
//! **A server** needs a certificate with its private key, a ring of ticket keys if its clients may resume,
//! and a vault of one-time keys if it accepts forward-secret early data:
//!
//! ```no_run
//! use std::error::Error;
//! use std::sync::Arc;
//!
//! use pki_types::pem::PemObject; // rustls-pki-types reads PEM
//! use pki_types::{CertificateDer, PrivatePkcs8KeyDer};
//! use tessera::ServerConfig;
//! use tessera::auth::{Credential, PrivateKey};
//! use tessera::resume::OneTimeKeyGuard;
//! use tessera_vault::{MemoryVault, RotatingRing};
//!
//! fn server_config() -> Result<ServerConfig, Box<dyn Error>> {
//!     let provider = tessera_aws_lc::provider();
//!
//!     // The certificate: the server's own first, then those of intermediate authorities.
//!     let chain = CertificateDer::pem_file_iter("chain.pem")?.collect::<Result<Vec<_>, _>>()?;
//!     let chain = chain.iter().map(|der| der.to_vec()).collect();
//!     let key = PrivatePkcs8KeyDer::from_pem_file("key.pem")?;
//!     let key = tessera_aws_lc::SigningKey::from_pkcs8(key.secret_pkcs8_der())?;
//!     let credential = Credential::new(chain, PrivateKey::Signs(Arc::new(key)));
//!     let mut config = ServerConfig::new(provider, vec![credential]);
//!     config.protocols = vec![b"http/1.1".to_vec()];
//!
//!     // Tickets. Without a ring every handshake is a full one. This one changes its keys itself.
//!     config.tickets = Some(Arc::new(RotatingRing::new(&provider)));
//!
//!     // Forward-secret 0-RTT. Without a guard early data can't be accepted.
//!     let vault = Arc::new(MemoryVault::new(100_000));
//!     config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault));
//!     Ok(config)
//! }
//! ```
//!
//! Share the configuration among all connections of the server. Ring and vault end with the process, unless
//! `tessera_vault::ServerState` keeps them. Servers of one name share their ticket keys (`tessera-etcd`). To
//! request client certificates, set [`client_authentication`](tessera::ServerConfig::client_authentication).
//!
//! **A client** needs a verifier, a store for its sessions if it wants to resume, and the policy to send
//! early data:
//!
//! ```no_run
//! use std::error::Error;
//! use std::sync::Arc;
//!
//! use pki_types::CertificateDer;
//! use pki_types::pem::PemObject;
//! use tessera::ClientConfig;
//! use tessera::resume::Continuation;
//! use tessera_tokio::{Connector, FileSessionStore};
//! use tessera_webpki::WebPkiVerifier;
//!
//! fn connector() -> Result<Connector, Box<dyn Error>> {
//!     // One private authority; `tessera_tokio::system_verifier()` trusts what the system trusts.
//!     let root = CertificateDer::from_pem_file("root.pem")?;
//!     let verifier = WebPkiVerifier::new(&[root])?;
//!     let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
//!     config.protocols = vec![b"http/1.1".to_vec()];
//!     config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
//!
//!     // Sessions are secrets. A resumption doesn't ask the verifier again: a session that another
//!     // verifier accepted isn't offered.
//!     let sessions = FileSessionStore::open("sessions")?;
//!     Ok(Connector::new(config.checked()?).with_sessions(Arc::new(sessions)))
//! }
//! ```
//!
//! **The first byte.** The first connection is a full handshake; its stream takes the server's tickets while
//! it is read. From the second connection on, [`Connector::connect_with_early_data`] sends the request
//! together with the ClientHello. Its outcome shows whether the request is safe to send again, even if the
//! connection failed: see the example at the method. At the server, [`Acceptor::accept_early`] returns the
//! stream as soon as the request can be answered.
//!
//! # Inside
//!
//! No future owns state, so that dropping one loses nothing. `machine` is the connection with its buffers and never
//! waits, `socket` holds bytes and wakers, and `driver` is one loop for both roles. `server/` is the accept loop with its
//! limits; it deals with TLS only when a handshake is over. `datagram/` has one task and one lock for each UDP socket.
//!
//! [`AsyncRead`]: tokio::io::AsyncRead
//! [`AsyncWrite`]: tokio::io::AsyncWrite
#![forbid(unsafe_code)]

mod acceptor;
mod answers;
mod async_handshake;
#[cfg(feature = "axum")]
pub mod axum;
mod clock;
mod connector;
mod current;
mod datagram;
mod driver;
mod early_data;
mod early_data_buffer;
mod error;
pub mod fast_open;
mod first_flight;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "hyper")]
pub mod hyper;
mod input;
mod machine;
mod server;
mod sessions;
mod socket;
mod stream;
#[cfg(feature = "tonic")]
pub mod tonic;
mod tracked;
#[cfg(feature = "system-trust")]
mod trust;
mod wakers;
mod watch;

pub use acceptor::Acceptor;
pub use answers::{Answer, Answers};
pub use async_handshake::AsyncHandshake;
pub use connector::Connector;
#[cfg(target_os = "linux")]
pub use datagram::NetworkChanges;
pub use datagram::{
    ClientDatagramConnection, DatagramConnection, DatagramConnector, DatagramHandshake,
    DatagramListener, FailedClient, ForeignDatagram, ForeignDatagrams, ReceivedDatagram, RefusedBy,
    ServerDatagramConnection, SocketAddresses,
};
pub use early_data::{EarlyData, EarlyDataOutcome};
pub use first_flight::{FirstFlight, FirstFlightError, FirstFlightFailure};
pub use server::{
    AcceptedClient, AddressRefusal, ClientSocket, Counts, Ending, Gate, HandshakePlace, IdleTimer,
    Limits, ListenerStream, Origin, ResetOnClose, Server, ServerCounts, Stall, StreamInfo,
    TimedOut, TimedSocket, TlsListener, Vacancy,
};
pub use sessions::{FileSessionStore, MemorySessionStore, SessionStore};
pub use stream::{ClientStream, ServerStream, TlsStream};
pub use tessera_endpoint::{
    EndpointCounts, EndpointOptions, Foreign, FrozenAssociation, OwnSockets, ResetKey,
    SocketPolicy, ThawError,
};
pub use tracked::{StreamUse, TrackedStream, Tracker};
#[cfg(feature = "system-trust")]
pub use trust::system_verifier;
pub use watch::HandshakeWatch;
