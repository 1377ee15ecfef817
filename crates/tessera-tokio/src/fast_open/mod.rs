//! TCP Fast Open (RFC 7413): a client's first bytes travel in the SYN, and a server has them half a
//! round trip after `connect()` instead of one and a half.
//!
//! A [`FastOpenStream`] is a TCP stream for a [`Connector`](crate::Connector); [`accept_on`] prepares a
//! listener. Nothing here is on by default. If anything is missing (the server's cookie, the sysctl, a
//! network that lets it through), the connection opens with an ordinary handshake and without an error:
//! [`FastOpenStream::opening`] reports which it was.
//!
//! # What it needs
//!
//! Linux at both ends, and its sysctl `net.ipv4.tcp_fastopen`, which covers IPv6 too: 1 allows connecting, 2
//! accepting, 3 both; the default is 1. Each network namespace has its own. The first connection to a server
//! brings a cookie, which the kernel keeps; later connections use it. Servers that share an address need the
//! same `net.ipv4.tcp_fastopen_key`, or each cookie is valid at one of them only.
//!
//! A SYN carries as much as fits: about 1,420 bytes over Ethernet. What doesn't fit leaves after the
//! server's answer, a round trip later. Which first flights fit is in `docs/fast-open.md`.
//!
//! # What it costs
//!
//! - **TCP may deliver a SYN's data twice** (RFC 7413 §2.1, §6.1): a SYN that was repeated or held back opens
//!   a second connection once the first is gone. To the server this is a replayed first flight.
//!   Forward-secret early data is still accepted at most once: the second take of its key finds none.
//!   Replayable early data is as replayable as before. Without early data a second ClientHello does nothing.
//!   Protocols other than TLS, or that answer before they know their client, have no such guard.
//! - **The cookie links connections.** The client's kernel keeps it until the next boot, whatever programs
//!   delete, and sends it in the clear: to the server, which may issue a different cookie to each client, and
//!   to any observer on the path. So two connections can be linked to one client although their TLS sessions
//!   have nothing in common.
//! - **A server works for clients that haven't answered yet.** It reads, computes and answers, up to TCP's
//!   initial window, before an ACK proves the client's address. The cookie only proves that this address was
//!   reached earlier, under this key. An attacker with stolen cookies can make a server send to their owners
//!   (RFC 7413 §5). The bound of [`accept_on`] limits that.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has it here"))]

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod kernel;
mod stream;

use std::io;
use std::num::NonZeroU16;
#[cfg(not(windows))]
use std::os::fd::AsFd as AsSocket;
#[cfg(windows)]
use std::os::windows::io::AsSocket;

pub(crate) use self::stream::never_left;
pub use self::stream::{FastOpenStream, Opening};

/// Lets a listener take data in SYNs.
///
/// At most `pending` connections that began this way may still lack the client's final ACK of the handshake
/// (RFC 7413 §5.1), including those that the program has already accepted. One address can fill these places;
/// the others then lose only the round trip, because their connections open as usual. The kernel caps the
/// value at `net.core.somaxconn`. [`Limits`](crate::Limits) apply as always, since a client is counted when
/// it is accepted.
///
/// An error reports why data in SYNs isn't taken: the system has no support, or its sysctl forbids it. The
/// listener works as before, so logging the error is enough. The option is set nevertheless, and takes effect
/// when the sysctl allows it.
pub fn accept_on(listener: &impl AsSocket, pending: NonZeroU16) -> io::Result<()> {
    kernel::accept(listener, pending)?;
    match kernel::sysctl() {
        Some(value) if value & kernel::MAY_ACCEPT == 0 => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "the sysctl net.ipv4.tcp_fastopen is {value}: 2 lets servers accept data in SYNs, 3 lets clients send \
                 it too"
            ),
        )),
        _ => Ok(()),
    }
}

/// Sets a socket that is not connected yet to send its first bytes with the SYN, for programs that don't use
/// [`FastOpenStream`]. Its `connect()` returns at once if there is a cookie, and errors that it would have
/// reported come with the first write or read. An error means that connections open as usual.
pub fn connect_on(socket: &impl AsSocket) -> io::Result<()> {
    kernel::connect(socket)
}

/// Returns whether the server took data from this connection's SYN; callable at either end. `None` if the
/// system doesn't report it.
pub fn syn_data_was_taken(socket: &impl AsSocket) -> Option<bool> {
    kernel::info(socket).map(|info| info.syn_data_taken)
}
