//! A connection as the observer sees it: records and when they pass.

use std::net::SocketAddrV4;
use std::time::Duration;

use super::records::{Direction, Record};
use crate::wired::{Segment, Watch};

/// One connection, as far as it has passed.
pub(super) struct WatchedConnection {
    server: SocketAddrV4,
    /// The source and the time of the first SYN. Segments of earlier connections may still pass.
    began: Option<(SocketAddrV4, Duration)>,
    from_client: Direction,
    from_server: Direction,
    pub(super) records: Vec<Record>,
}

impl WatchedConnection {
    /// Returns the next connection to this server.
    pub(super) fn new(server: SocketAddrV4) -> Self {
        Self {
            server,
            began: None,
            from_client: Direction::default(),
            from_server: Direction::default(),
            records: Vec::new(),
        }
    }

    fn see(&mut self, segment: &Segment<'_>, at: Duration) {
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

    /// Returns the sizes and times of a connection in which the client and the server sent this many bytes.
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

impl Watch for WatchedConnection {
    fn pass(&mut self, segment: &Segment<'_>, _: usize, at: Duration) {
        self.see(segment, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wired::packet;

    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    #[test]
    fn a_connection_is_seen_as_sizes_with_their_sides_and_times() {
        let (client, server): (SocketAddrV4, SocketAddrV4) =
            ("10.77.0.1:50000".parse().unwrap(), "10.77.0.2:443".parse().unwrap());
        let other = "10.77.0.2:80".parse().unwrap();
        let earlier = "10.77.0.1:49999".parse().unwrap();
        let mut watched = WatchedConnection::new(server);
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
            watched.see(&Segment::read(packet).unwrap(), Duration::from_micros(*us));
        }
        let seen = watched.sizes_and_times([7, 6]);
        assert_eq!(seen, Ok(vec![(7, 30), (-6, 50)]));
        assert_eq!(watched.plaintext(), [0]);
        let missing = watched.sizes_and_times([7, 12]);
        assert_eq!(missing, Err("the observer saw 6 of the server's 12 bytes in order".to_owned()));
    }
}
