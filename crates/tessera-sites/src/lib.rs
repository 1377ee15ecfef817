//! The channel between sites of Tessera servers that share ticket keys, over mutual TLS.
//!
//! A flight that arrives at a site which did not issue its ticket is rejected there, and its one-time key is burned at
//! its home site before the client may send again (`docs/0rtt-fs.md`, section 11).
//! [`SiteVault`](tessera_vault::SiteVault) decides what to ask; this crate asks it.
//!
//! - [`TlsSiteChannel`] is a [`SiteChannel`](tessera_vault::SiteChannel): one lasting connection to each
//!   other site, with deadlines.
//! - [`SiteServer`] burns for other sites, which [`KnownSites`] recognises, and takes secrets that move here with their client
//!   ([`MovingVault`](tessera_vault::MovingVault)).
//! - [`SiteAnswers`] lets a server on tokio ask, for a limited time.
//!
//! An attacker who forges an acknowledgement can make a client repeat what was executed. So both ends authenticate by
//! certificates, and a signature of an authority is not enough: the server knows each of its sites, and the channel
//! verifies the server's name. Use an authority for nothing but this. `docs/sites.md` specifies the protocol and its
//! failures.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use tessera::auth::Credential;
//! use tessera::resume::OneTimeKeyGuard;
//! use tessera::{ClientConfig, ServerConfig};
//! use tessera_sites::{
//!     ChannelLimits, KnownSites, OtherSite, ServerLimits, SiteAnswers, SiteProof, SiteServer,
//!     TlsSiteChannel, client_config, server_config,
//! };
//! use tessera_tokio::{Acceptor, Connector, MemorySessionStore};
//! use tessera_vault::{MemoryVault, SiteVault};
//! use tessera_webpki::WebPkiVerifier;
//! use tokio::net::TcpListener;
//!
//! /// Of this site, from the authority of all sites.
//! struct Identity {
//!     credential: Credential,
//!     root: Vec<u8>,
//! }
//!
//! async fn example(
//!     mut config: ServerConfig,
//!     identity: Identity,
//!     // The names of the two vaults, random; each site keeps its own.
//!     [own_vault, other_vault]: [[u8; 16]; 2],
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let provider = tessera_aws_lc::provider();
//!     let verifier = Arc::new(WebPkiVerifier::new(&[&identity.root])?);
//!
//!     // The end that asks.
//!     let mut client = ClientConfig::new(provider, verifier.clone());
//!     client.credentials = vec![identity.credential.clone()];
//!     let connector = Connector::new(client_config(client)?)
//!         .with_sessions(Arc::new(MemorySessionStore::default()));
//!     let other = OtherSite {
//!         vault: other_vault,
//!         address: "site-b.example:8444".into(),
//!         server_name: "site-b.example".into(),
//!     };
//!     let channel = TlsSiteChannel::open(&connector, vec![other], ChannelLimits::default());
//!     let vault = Arc::new(MemoryVault::new(100_000));
//!     let site = Arc::new(SiteVault::named(vault, own_vault, Arc::new(channel)));
//!
//!     // The end that answers.
//!     let known = KnownSites::new(verifier)
//!         .with("site b", SiteProof::DnsName("site-b.example".into()));
//!     let server = server_config(ServerConfig::new(provider, vec![identity.credential]), known)?;
//!     let listener = TcpListener::bind("[::]:8444").await?;
//!     let burns = SiteServer::new(site.clone(), ServerLimits::default());
//!     let burning = burns.run(listener, Acceptor::new(server), std::future::pending());
//!
//!     // The site's servers for clients.
//!     config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(site.clone()));
//!     let answers = SiteAnswers::new(site, Duration::from_secs(2));
//!     let acceptor = Acceptor::new(config.checked()?).with_answers(Arc::new(answers));
//!     # drop(acceptor);
//!     burning.await;
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

mod answers;
mod channel;
mod config;
mod counts;
mod known;
mod limits;
mod server;
mod wire;

pub use answers::SiteAnswers;
pub use channel::{OtherSite, TlsSiteChannel};
pub use config::{client_config, server_config};
pub use counts::{ChannelCounts, SiteServerCounts};
pub use known::{KnownSites, SiteProof};
pub use limits::{ChannelLimits, ServerLimits};
pub use server::SiteServer;

/// The application protocol of the channel (ALPN, RFC 7301): its name and its version.
pub const PROTOCOL: &[u8] = b"tessera-sites/2";
