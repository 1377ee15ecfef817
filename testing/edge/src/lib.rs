//! Pools of `tessera edge` as processes, with a store in etcd, a service at each proxy that records what it executes, and
//! clients that follow.
//!
//! | module | purpose |
//! |---|---|
//! | `pool` | a pool: the store, the certificates, the proxies, and an orchestrator's view |
//! | `envoy` | an Envoy as a member |
//! | `envoys` | two Envoys that share a ticket key and nothing else |
//! | `orchestrator` | an orchestrator, and how tests call it |
//! | `proxy` | one proxy: its configuration and its process |
//! | `client` | a client that follows, and numbers its requests |
//! | `service` | an instance of the services, whose record outlives every proxy |
//! | `backend` | an instance that keeps every byte that it receives |
//! | `observer` | a relay before a proxy, which sees which connections resume |
//! | `stock` | browsers, curl and Go as clients |
//! | `store` | what is, and what ever was, in etcd |
//! | `wait` | bounded waiting |
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail their test")]

mod backend;
mod client;
mod envoy;
mod envoys;
mod observer;
mod orchestrator;
mod pool;
mod proxy;
mod service;
mod stock;
mod store;
mod wait;

pub use backend::{RawBackend, RecordedRequest};
pub use client::{Answer, Drone, ORIGIN, Outcome, Track};
pub use envoy::EnvoyMember;
pub use envoys::EnvoyPair;
pub use observer::{Arrival, Observer};
pub use orchestrator::{Caller, Orchestrator};
pub use pool::{POOL_KEY, Pool, PoolSettings, places};
pub use proxy::{EdgeProxy, Places};
pub use service::{Execution, Executions, Instance};
pub use stock::{Itinerary, StockClient, StockClients, Visit, Visitor};
pub use store::{entries, ever_stored, owners};
pub use wait::{LONG, until};
