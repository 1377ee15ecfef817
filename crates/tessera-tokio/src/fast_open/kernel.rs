//! What Linux is asked.

use std::fs;
use std::io;
use std::num::NonZeroU16;
use std::os::fd::AsFd;

use nix::sys::socket::sockopt::TcpFastOpenConnect;
use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

// nix has no names of its own for these two. Its macro makes them from its own getters and setters: an
// integer that the kernel reads, and bytes that it writes, of which every value is one.
sockopt_impl!(
    /// How many connections may begin with data in the SYN and wait for their end of the handshake.
    AcceptFastOpen,
    SetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_FASTOPEN,
    usize
);
sockopt_impl!(
    /// The beginning of `struct tcp_info`: the same in every version of it.
    TcpInfoHead,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    [u8; INFO_LEN]
);

const INFO_LEN: usize = 8;

/// What of the sysctl lets a server take data in SYNs.
pub(super) const MAY_ACCEPT: u32 = 2;

/// What the kernel knows of a connection.
pub(super) struct Info {
    pub(super) state: State,
    /// The server took the data of the SYN; at both ends.
    pub(super) syn_data_taken: bool,
}

/// Where a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// There was no answer to the SYN, or the SYN was not sent yet.
    Opening,
    /// It is there, or was closed in order.
    Open,
    /// It is gone.
    Closed,
}

pub(super) fn info(socket: &impl AsFd) -> Option<Info> {
    const SYN_SENT: u8 = 2;
    const CLOSE: u8 = 7;
    const TCPI_OPT_SYN_DATA: u8 = 32;
    let [state, _, _, _, _, options, ..] = getsockopt(socket, TcpInfoHead).ok()?;
    let state = match state {
        SYN_SENT => State::Opening,
        CLOSE => State::Closed,
        _ => State::Open,
    };
    Some(Info { state, syn_data_taken: options & TCPI_OPT_SYN_DATA != 0 })
}

pub(super) fn connect(socket: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(socket, TcpFastOpenConnect, &true)?)
}

pub(super) fn accept(listener: &impl AsFd, pending: NonZeroU16) -> io::Result<()> {
    Ok(setsockopt(listener, AcceptFastOpen, &usize::from(pending.get()))?)
}

/// The sysctl of the calling thread's network namespace.
pub(super) fn sysctl() -> Option<u32> {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_fastopen").ok()?.trim().parse().ok()
}

/// The cookie is gone, and an ordinary handshake under way: nothing of what was written was taken.
pub(super) fn has_no_cookie(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINPROGRESS)
}

/// Whether the kernel could not send the SYN at all, having no way to the server any more or no memory. It
/// finds that out before the SYN leaves, and calls it ECONNABORTED. What the network says of a SYN that
/// left has other numbers.
pub(super) fn is_before_syn(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECONNABORTED)
}
