//! One direction of a link, with the datagrams that it carries.

use std::collections::HashMap;
use std::time::Duration;

use tessera_link::{End, Fate, LinkParameters, Scheduler};

/// The headers of IPv4 and UDP, in bytes.
pub(super) const HEADERS: usize = IP_HEADER + UDP_HEADER;
const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// One direction.
pub(super) struct Direction {
    packets: Scheduler<u64>,
    mtu: usize,
    /// Datagrams of which no packet was lost, and how many packets of each are under way.
    datagrams: HashMap<u64, (usize, Vec<u8>)>,
    sent: Packets,
}

/// IP packets that were sent, lost ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packets {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Direction {
    /// Creates the direction that ends at `towards`.
    pub(super) fn new(parameters: &LinkParameters, towards: End) -> Self {
        Self {
            packets: Scheduler::new(parameters, towards),
            mtu: parameters.mtu.into(),
            datagrams: HashMap::new(),
            sent: Packets::default(),
        }
    }

    /// Sends a datagram, in fragments of IP (RFC 791 §3.2) if it is too long for a packet.
    pub(super) fn send(&mut self, now: Duration, datagram: Vec<u8>) {
        // A number that none under way has: of its first packet.
        let number = self.sent.count;
        let mut held = 0;
        let mut is_whole = true;
        for bytes in packets(UDP_HEADER + datagram.len(), self.mtu) {
            self.sent.count += 1;
            self.sent.bytes += bytes as u64;
            is_whole &= matches!(self.packets.offer(now, bytes, number), Fate::Held(_));
            held += 1;
        }
        if is_whole {
            self.datagrams.insert(number, (held, datagram));
        }
    }

    /// Returns when the next packet arrives.
    pub(super) fn next_arrival(&self) -> Option<Duration> {
        self.packets.next_due()
    }

    /// Returns the next datagram that is there at `now`.
    pub(super) fn receive(&mut self, now: Duration) -> Option<Vec<u8>> {
        while let Some(number) = self.packets.take_due(now) {
            if let Some((missing, _)) = self.datagrams.get_mut(&number) {
                *missing -= 1;
                if *missing == 0 {
                    return self.datagrams.remove(&number).map(|(_, datagram)| datagram);
                }
            }
        }
        None
    }

    /// Returns what was sent.
    pub(super) fn sent(&self) -> Packets {
        self.sent
    }

    /// Returns what the link counted.
    #[cfg(test)]
    pub(super) fn statistics(&self) -> tessera_link::DirectionStatistics {
        self.packets.statistics()
    }
}

/// Returns the lengths of the packets that carry so many bytes of UDP.
fn packets(udp: usize, mtu: usize) -> impl Iterator<Item = usize> {
    let room = mtu - IP_HEADER;
    // All fragments but the last have a multiple of eight bytes.
    let each = if udp <= room { room } else { room / 8 * 8 };
    (0..udp.div_ceil(each)).map(move |index| IP_HEADER + each.min(udp - index * each))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_that_is_too_long_arrives_with_its_last_fragment() {
        assert_eq!(packets(107, 127).collect::<Vec<_>>(), [127]);
        assert_eq!(packets(108, 127).collect::<Vec<_>>(), [124, 24]);
        assert_eq!(packets(220, 127).collect::<Vec<_>>(), [124, 124, 32]);
        let parameters = LinkParameters { mtu: 127, ..LinkParameters::default() };
        let mut direction = Direction::new(&parameters, End::Server);
        direction.send(Duration::ZERO, vec![1; 99]);
        direction.send(Duration::ZERO, vec![2; 212]);
        assert_eq!(direction.receive(Duration::ZERO), Some(vec![1; 99]));
        assert_eq!(direction.receive(Duration::ZERO), Some(vec![2; 212]));
        assert_eq!((direction.receive(Duration::ZERO), direction.next_arrival()), (None, None));
        assert_eq!(direction.sent(), Packets { count: 4, bytes: 127 + 280 });
        let lost = LinkParameters { loss: 0.5, ..parameters };
        let mut direction = Direction::new(&lost, End::Server);
        (0..1000).for_each(|_| direction.send(Duration::ZERO, vec![2; 212]));
        let whole = std::iter::from_fn(|| direction.receive(Duration::ZERO)).count();
        assert!((80..170).contains(&whole), "an eighth of a thousand: {whole}");
    }
}
