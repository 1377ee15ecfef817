//! TCP Fast Open (RFC 7413): a client's first bytes travel in the SYN, and a server has them half a
//! round trip after `connect()` instead of one and a half.
//!
//! A [`FastOpenStream`] is a TCP stream for a [`Connector`](crate::Connector); [`accept_on`] prepares a
//! listener. Nothing here is on by itself. Where anything is missing (the server's cookie, the system's
//! consent, a network that lets it through) there is an ordinary handshake and no error:
//! [`FastOpenStream::opening`] says which it was.
//!
//! # What it needs
//!
//! Linux at both ends, and its sysctl `net.ipv4.tcp_fastopen`, for IPv6 too: 1 lets programs connect so,
//! 2 lets them accept, 3 both; the default is 1. Each network namespace has its own. The first connection
//! to a server brings a cookie, which the kernel keeps; those after it use it. Servers that share an
//! address need the same `net.ipv4.tcp_fastopen_key`, or each cookie is good at one of them.
//!
//! A SYN carries as much as fits: about 1,420 bytes over Ethernet. What doesn't fit leaves after the
//! server's answer, a round trip later. Which first flights fit is in `docs/fast-open.md`.
//!
//! # What it costs
//!
//! - **TCP may deliver a SYN's data twice** (RFC 7413 §2.1, §6.1): a SYN that was repeated or held back is a
//!   connection of its own once the first is gone. To the server this is a first flight that was
//!   replayed. Forward-secret early data stays accepted at most once: the second take of its key finds
//!   none. Replayable early data is as replayable as before. Without early data a second ClientHello does
//!   nothing. Protocols that are not TLS, or that answer before they know their client, have no such guard.
//! - **The cookie links connections.** The client's kernel keeps it until it is restarted, whatever programs
//!   delete, and shows it in the clear: to the server, which may give each client one of its own, and to
//!   whoever sees the path. So two connections may be known as one client's although their TLS sessions have
//!   nothing in common.
//! - **A server works for clients that didn't answer yet.** It reads, computes and answers, up to TCP's
//!   initial window, before the client's address is proven by an ACK. What proves it is the cookie: that
//!   this address was reached earlier, from this key. Whoever has stolen cookies can have a server send to
//!   their owners (RFC 7413 §5). The bound of [`accept_on`] is for that.
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
/// At most `pending` connections that have begun so may be without the client's last word in the
/// handshake (RFC 7413 §5.1), those included that the program has accepted already. One address can fill
/// these places. What the others lose then is the round trip: their connections begin as usual. The
/// kernel takes no more than `net.core.somaxconn`. [`Limits`](crate::Limits) hold as always, since a
/// client is counted when it is accepted.
///
/// An error says why data in SYNs isn't taken. The listener is as good as before, so it is for the log: the
/// system is none that can, or its sysctl says no. It is set all the same, and begins when the sysctl does.
pub fn accept_on(listener: &impl AsSocket, pending: NonZeroU16) -> io::Result<()> {
    kernel::accept(listener, pending)?;
    match kernel::sysctl() {
        Some(value) if value & kernel::MAY_ACCEPT == 0 => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "the sysctl net.ipv4.tcp_fastopen is {value}: 2 lets servers take data in SYNs, 3 \
                 lets clients send it too"
            ),
        )),
        _ => Ok(()),
    }
}

/// Sets a socket that is not connected yet to send its first bytes with the SYN, for programs that don't
/// use [`FastOpenStream`]. Its `connect()` returns at once where there is a cookie, and what it would have
/// reported comes with the first write or read. An error says that connections begin as usual.
pub fn connect_on(socket: &impl AsSocket) -> io::Result<()> {
    kernel::connect(socket)
}

/// Whether the server took data that the SYN of this connection carried; asked at either end. `None` where
/// the system doesn't tell.
pub fn syn_data_was_taken(socket: &impl AsSocket) -> Option<bool> {
    kernel::info(socket).map(|info| info.syn_data_taken)
}
