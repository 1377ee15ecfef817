//! The observer: sees each packet at the client's end of the link, and has no keys.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, recvmsg,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;

use super::segment::Segment;

/// How much the kernel buffers until the observer reads it, in bytes: more than a flow has.
const ROOM: usize = 16 * 1024 * 1024;

/// Sees every packet that passes where it was opened.
pub(crate) struct Observer {
    socket: OwnedFd,
    packet: Vec<u8>,
    /// For the kernel's time of each packet.
    control: Vec<u8>,
}

/// Receives the segments.
pub(crate) trait Watch {
    /// A segment passed, in an IP packet of this size, header included.
    fn pass(&mut self, segment: &Segment<'_>, bytes: usize, at: Duration);
}

impl Observer {
    /// Starts to capture packets at the calling thread's end (packet(7)).
    pub(super) fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // Without the headers of the link, which are not the same everywhere.
        let socket =
            socket(AddressFamily::Packet, SockType::Datagram, flags, SockProtocol::EthAll)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        // Only root of the machine may have this much; otherwise, an incomplete flow is reported.
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &ROOM);
        let packet = vec![0; usize::from(u16::MAX)];
        Ok(Self { socket, packet, control: cmsg_space!(TimeSpec) })
    }

    /// Reads all packets that passed since the last call. The kernel buffers at least 200 KB of them: call it before
    /// more pass.
    pub(super) fn look(&mut self, watched: &mut dyn Watch) -> io::Result<()> {
        while let Some((length, at)) = self.next()? {
            if let Some(segment) = Segment::read(&self.packet[..length]) {
                watched.pass(&segment, length, at);
            }
        }
        Ok(())
    }

    /// Discards the packets that passed since the last call.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        while self.next()?.is_some() {}
        Ok(())
    }

    /// Returns the length of the next packet, and when the kernel saw it.
    fn next(&mut self) -> io::Result<Option<(usize, Duration)>> {
        let mut room = [IoSliceMut::new(&mut self.packet)];
        let fd = self.socket.as_raw_fd();
        let control = Some(&mut self.control[..]);
        let received = match recvmsg::<()>(fd, &mut room, control, MsgFlags::empty()) {
            Err(Errno::EAGAIN) => return Ok(None),
            received => received?,
        };
        let at = received.cmsgs()?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
            _ => None,
        });
        let at = at.ok_or_else(|| {
            io::Error::other("the kernel doesn't timestamp packets: it lacks SO_TIMESTAMPNS")
        })?;
        Ok(Some((received.bytes, at)))
    }
}
