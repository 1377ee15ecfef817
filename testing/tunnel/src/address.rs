//! Addresses for programs that take no other from the kernel.

use std::net::SocketAddr;

use tessera_test_peers::free_port;

/// Returns an unused address of the loopback interface.
pub fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port().unwrap()))
}
