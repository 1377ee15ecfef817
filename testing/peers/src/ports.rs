//! Ports for peers that can't have the kernel choose one.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns an unused port. It is below the ephemeral ports of the kernel, so that no other program gets it before a
/// peer does; other processes of the same tests begin elsewhere.
///
/// # Errors
/// If all are used.
pub fn free_port() -> io::Result<u16> {
    const PORTS: std::ops::Range<u32> = 15_000..32_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in PORTS {
        let number = NEXT.fetch_add(1, Ordering::Relaxed) + std::process::id() * 61;
        let port = (PORTS.start + number % (PORTS.end - PORTS.start)) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Whether a program listens on this TCP port in the network of the process `id`. This makes no connection: a tunnel
/// would forward it, and a server would count it.
pub(crate) fn is_listening(id: u32, port: u16) -> bool {
    // The state TCP_LISTEN of include/net/tcp_states.h.
    const LISTEN: &str = "0A";
    ["tcp", "tcp6"].iter().any(|table| {
        let sockets = fs::read_to_string(format!("/proc/{id}/net/{table}")).unwrap_or_default();
        sockets.lines().skip(1).any(|line| {
            let mut columns = line.split_whitespace().skip(1);
            let local = columns.next().and_then(|local| local.rsplit_once(':'));
            let is_it = local.and_then(|(_, hex)| u16::from_str_radix(hex, 16).ok()) == Some(port);
            is_it && columns.nth(1) == Some(LISTEN)
        })
    })
}
