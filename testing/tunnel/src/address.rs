//! Addresses for programs that can't have the kernel choose one.

use std::net::SocketAddr;

use tessera_test_peers::free_port;

/// Returns an unused address of the loopback interface.
pub fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port().unwrap()))
}
