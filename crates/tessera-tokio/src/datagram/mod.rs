//! DTLS 1.3 (RFC 9147) over UDP sockets.
//!
//! No future owns state: all of it is behind one lock of its socket (`hub`), and one task (`driver`) receives, sends
//! again what is not acknowledged, and keeps time. A socket's associations are an endpoint, or a client's only one
//! (`associations`); everything else is the same for both roles.

mod associations;
mod binder;
mod connection;
mod connector;
mod driver;
mod failures;
mod foreign;
mod frozen;
mod hub;
mod inbox;
mod listener;
mod lone_association;
#[cfg(target_os = "linux")]
mod network_changes;
mod other_sockets;
mod peer;
mod receiving;
mod sending;
mod socket;
mod sockets;
mod waiting;

pub use associations::DatagramHandshake;
pub use binder::SocketAddresses;
pub use connection::{ClientDatagramConnection, DatagramConnection, ServerDatagramConnection};
pub use connector::DatagramConnector;
pub use failures::{FailedClient, RefusedBy};
pub use foreign::ForeignDatagrams;
pub use inbox::{ForeignDatagram, ReceivedDatagram};
pub use listener::DatagramListener;
#[cfg(target_os = "linux")]
pub use network_changes::NetworkChanges;
