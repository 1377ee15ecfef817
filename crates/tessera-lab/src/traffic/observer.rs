//! The observer: sees each packet at the client's end of the link, and has no keys.

use std::io::{self, IoSliceMut};
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, recvmsg,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;

use super::records::{Direction, Record};
use super::segment::Segment;

/// How much the kernel keeps until the observer looks, in bytes: more than a flow has.
const ROOM: usize = 16 * 1024 * 1024;

/// Sees every packet that passes where it was opened.
pub(super) struct Observer {
    socket: OwnedFd,
    packet: Vec<u8>,
    /// For the kernel's time of each packet.
    control: Vec<u8>,
}

/// One connection, as far as it has passed.
pub(super) struct Watched {
    server: SocketAddrV4,
    /// From where the first SYN came, and when. Segments of earlier connections may still pass.
    began: Option<(SocketAddrV4, Duration)>,
    from_client: Direction,
    from_server: Direction,
    pub(super) records: Vec<Record>,
}

impl Observer {
    /// Begins to see packets at the end at which the calling thread is (packet(7)).
    pub(super) fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // Without the headers of the link, which are not the same everywhere.
        let socket =
            socket(AddressFamily::Packet, SockType::Datagram, flags, SockProtocol::EthAll)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        // Only root of the machine may have that much; where others see too little of a flow, that is said.
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &ROOM);
        let packet = vec![0; usize::from(u16::MAX)];
        Ok(Self { socket, packet, control: cmsg_space!(TimeSpec) })
    }

    /// Looks at all packets that passed since it last looked. The kernel keeps 200 KB of them at least: look
    /// before more passes.
    pub(super) fn look(&mut self, watched: &mut Watched) -> io::Result<()> {
        while let Some((length, at)) = self.next()? {
            if let Some(segment) = Segment::read(&self.packet[..length]) {
                watched.pass(&segment, at);
            }
        }
        Ok(())
    }

    /// Forgets the packets that passed since it last looked.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        while self.next()?.is_some() {}
        Ok(())
    }

    /// The length of the next packet, and when the kernel saw it.
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
        let at = at.ok_or_else(|| io::Error::other("the kernel told no time of a packet"))?;
        Ok(Some((received.bytes, at)))
    }
}

impl Watched {
    /// The next connection to this server.
    pub(super) fn new(server: SocketAddrV4) -> Self {
        Self {
            server,
            began: None,
            from_client: Direction::default(),
            from_server: Direction::default(),
            records: Vec::new(),
        }
    }

    fn pass(&mut self, segment: &Segment<'_>, at: Duration) {
        let from_client = segment.to == self.server;
        if from_client && segment.is_syn {
            self.began.get_or_insert((segment.from, at));
        }
        let Some((client, _)) = self.began else { return };
        if [(client, self.server), (self.server, client)]
            .iter()
            .all(|ends| *ends != (segment.from, segment.to))
        {
            return;
        }
        let direction = if from_client { &mut self.from_client } else { &mut self.from_server };
        if segment.is_syn {
            direction.begin(segment.sequence);
        }
        // A SYN counts as one number before its data.
        let first = segment.sequence.wrapping_add(segment.is_syn.into());
        for (size, is_plaintext) in direction.pass(first, segment.payload) {
            self.records.push(Record { from_client, size, is_plaintext, at });
        }
    }

    /// The sizes and times of a connection in which the client and the server sent so many bytes.
    ///
    /// # Errors
    ///
    /// If not all of it passed: what is missing.
    pub(super) fn sizes_and_times(&self, sent: [u64; 2]) -> Result<Vec<(i64, u64)>, String> {
        let (_, began) = self.began.ok_or("the observer saw no beginning")?;
        let sides = [("client", &self.from_client), ("server", &self.from_server)];
        for ((side, direction), sent) in sides.into_iter().zip(sent) {
            if !direction.is_whole() || direction.bytes != sent {
                let seen = direction.bytes;
                return Err(format!(
                    "the observer saw {seen} of the {side}'s {sent} bytes in order"
                ));
            }
        }
        let record = |record: &Record| {
            let size = record.size as i64;
            let us = record.at.saturating_sub(began).as_micros() as u64;
            (if record.from_client { size } else { -size }, us)
        };
        Ok(self.records.iter().map(record).collect())
    }

    /// Which of the records are plaintext, by their place.
    pub(super) fn plaintext(&self) -> Vec<usize> {
        let records = self.records.iter().enumerate();
        records.filter(|(_, record)| record.is_plaintext).map(|(index, _)| index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::segment::tests::packet;
    use super::*;

    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    #[test]
    fn a_connection_is_seen_as_sizes_with_their_sides_and_times() {
        let (client, server): (SocketAddrV4, SocketAddrV4) =
            ("10.77.0.1:50000".parse().unwrap(), "10.77.0.2:443".parse().unwrap());
        let other = "10.77.0.2:80".parse().unwrap();
        let earlier = "10.77.0.1:49999".parse().unwrap();
        let mut watched = Watched::new(server);
        let hello = [22, 3, 1, 0, 2, 1, 1];
        let data = [23, 3, 3, 0, 1, 9];
        let packets = [
            (packet(server, earlier, 9, ACK, &data), 990),
            (packet(client, server, 7, SYN, b""), 1_000),
            (packet(server, earlier, 51, ACK, &data), 1_010),
            (packet(earlier, server, 8, ACK, &data), 1_011),
            (packet(server, client, 50, SYN | ACK, b""), 1_020),
            (packet(client, server, 8, ACK, &hello), 1_030),
            (packet(client, other, 8, ACK, &data), 1_031),
            (packet(client, server, 8, ACK, &hello), 1_040),
            (packet(server, client, 51, ACK, &data), 1_050),
        ];
        for (packet, us) in &packets {
            watched.pass(&Segment::read(packet).unwrap(), Duration::from_micros(*us));
        }
        let seen = watched.sizes_and_times([7, 6]);
        assert_eq!(seen, Ok(vec![(7, 30), (-6, 50)]));
        assert_eq!(watched.plaintext(), [0]);
        let missing = watched.sizes_and_times([7, 12]);
        assert_eq!(missing, Err("the observer saw 6 of the server's 12 bytes in order".to_owned()));
    }
}
