//! Tickets that stock Envoy seals and opens: a server of Tessera and Envoys resume each other's sessions.
//!
//! [`EnvoyTickets`] are the ticket keys of such a server ([`ServerConfig::tickets`](tessera::ServerConfig::tickets)).
//! Envoy's ticket is 16 bytes of key name, an IV, BoringSSL's session in DER under AES-256-CBC, and an HMAC-SHA256. That
//! session lacks what Tessera checks on a resumption: server_name, verifier, policy and scope. They come from the
//! [`Pool`], which the session's [`SessionContext`] names. The keys are those that `tessera stek` gives to Envoys;
//! [`PoolMember`] takes them from the same ring.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use tessera_envoy_tickets::{EnvoyKey, EnvoyTickets, Pool, SessionContext};
//! use tessera_vault::RotatingRing;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let certificate = tessera_pki::Authority::new("CA").issue("www.example").der();
//! # let key: Vec<u8> = (0..80).collect();
//! let provider = tessera_aws_lc::provider();
//! let context = SessionContext::of_envoy(&[certificate], &[])?;
//! let pool = Pool::new(context, vec!["www.example".into()]);
//! let tickets = Arc::new(EnvoyTickets::new(pool, Arc::new(RotatingRing::new(&provider))));
//! tickets.install(vec![EnvoyKey::new(&provider, &key, Duration::MAX, Duration::MAX)?])?;
//! // config.tickets = Some(tickets);
//! # drop(tickets);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod context;
mod installer;
mod key;
mod pool;
mod session;
mod tickets;
mod traits;

pub use context::{SessionContext, SessionContextError};
pub use installer::PoolMember;
pub use key::{ENVOY_KEY_LEN, EnvoyKey, EnvoyKeyError};
pub use pool::Pool;
pub use tickets::EnvoyTickets;
pub use traits::member_traits;
