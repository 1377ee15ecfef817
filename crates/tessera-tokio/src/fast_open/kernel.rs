//! The Linux side: socket options, sysctl, `tcp_info`.

use std::fs;
use std::io;
use std::num::NonZeroU16;
use std::os::fd::AsFd;

use nix::sys::socket::sockopt::TcpFastOpenConnect;
use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

// nix has no names for these two. Its macro builds them from its own getters and setters: an integer that
// the kernel reads, and a byte array, of which every value is valid, that it writes.
sockopt_impl!(
    /// How many connections may begin with data in the SYN and still lack the final ACK of the handshake.
    AcceptFastOpen,
    SetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_FASTOPEN,
    usize
);
sockopt_impl!(
    /// The head of `struct tcp_info`, identical in every version.
    TcpInfoHead,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    [u8; INFO_LEN]
);

const INFO_LEN: usize = 8;

/// The bit of the sysctl that lets a server take data in SYNs.
pub(super) const MAY_ACCEPT: u32 = 2;

/// What the kernel knows of a connection.
pub(super) struct Info {
    pub(super) state: State,
    /// The server took the data of the SYN; set at both ends.
    pub(super) syn_data_taken: bool,
}

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The SYN was not sent yet, or not answered.
    Opening,
    /// Open, or closed in order.
    Open,
    /// Gone.
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

/// Returns the sysctl of the calling thread's network namespace.
pub(super) fn sysctl() -> Option<u32> {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_fastopen").ok()?.trim().parse().ok()
}

/// Whether the cookie is gone and an ordinary handshake in progress: nothing of what was written was taken.
pub(super) fn has_no_cookie(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINPROGRESS)
}

/// Whether the kernel could not send the SYN at all, because it has no route to the server any more or no
/// memory. It detects that before the SYN leaves, and reports ECONNABORTED. Errors that the network reports
/// for a SYN that left have other numbers.
pub(super) fn is_before_syn(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECONNABORTED)
}
