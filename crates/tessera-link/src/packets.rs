//! IP packets: what their headers contain, and what a NAT changes in them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

use crate::paths::{Packet, Transport};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// The header of a fragment (RFC 8200 §4.5).
const IPV6_FRAGMENT: u8 = 44;
const IPV6_HEADER: usize = 40;

/// A packet as an interface passes it.
#[derive(Clone)]
pub(crate) struct IpPacket(pub(crate) Vec<u8>);

/// Where the sender's and the receiver's address are in a packet.
struct Places {
    source: Range<usize>,
    destination: Range<usize>,
}

// RFC 791 §3.1, RFC 8200 §3.
const IPV4: Places = Places { source: 12..16, destination: 16..20 };
const IPV6: Places = Places { source: 8..24, destination: 24..40 };

impl IpPacket {
    fn version(&self) -> u8 {
        self.0.first().map_or(0, |first| first >> 4)
    }

    fn places(&self) -> Option<&'static Places> {
        let places = match self.version() {
            4 => &IPV4,
            6 => &IPV6,
            _ => return None,
        };
        (self.0.len() >= places.destination.end).then_some(places)
    }

    /// Returns the protocol, and what follows the IP header.
    fn segment(&self) -> Option<(u8, usize)> {
        match self.version() {
            4 => {
                // It counts its length in words of four bytes.
                let header = usize::from(self.0.first()? & 0x0f) * 4;
                Some((*self.0.get(9)?, header))
            }
            6 => Some((*self.0.get(6)?, IPV6_HEADER)),
            _ => None,
        }
    }

    fn is_ipv4_fragment(&self) -> bool {
        // The flag "more fragments", and the offset.
        const FRAGMENT: u16 = 0x3fff;
        self.version() == 4 && self.word(6) & FRAGMENT != 0
    }

    fn address(&self, place: &Range<usize>) -> Option<IpAddr> {
        let bytes = self.0.get(place.clone())?;
        match <[u8; 4]>::try_from(bytes) {
            Ok(ipv4) => Some(Ipv4Addr::from(ipv4).into()),
            Err(_) => <[u8; 16]>::try_from(bytes).ok().map(|ipv6| Ipv6Addr::from(ipv6).into()),
        }
    }

    /// Changes an address of a UDP datagram, and the port at this offset in its header.
    fn translate(&mut self, place: &Range<usize>, port: usize, to: SocketAddr) {
        const IPV4_CHECKSUM: usize = 10;
        const UDP_CHECKSUM: usize = 6;
        let Some((UDP, udp)) = self.segment() else { return };
        let address = match to.ip() {
            IpAddr::V4(ipv4) => ipv4.octets().to_vec(),
            IpAddr::V6(ipv6) => ipv6.octets().to_vec(),
        };
        if address.len() != place.len() {
            return;
        }
        let mut changes = vec![(udp + port, to.port())];
        for (i, word) in address.chunks_exact(2).enumerate() {
            changes.push((place.start + 2 * i, u16::from_be_bytes([word[0], word[1]])));
        }
        for (at, word) in changes {
            let before = self.word(at);
            self.set_word(at, word);
            // A datagram without a checksum keeps none (RFC 768).
            if self.word(udp + UDP_CHECKSUM) != 0 {
                let sum = updated(self.word(udp + UDP_CHECKSUM), before, word);
                self.set_word(udp + UDP_CHECKSUM, if sum == 0 { 0xffff } else { sum });
            }
            if self.version() == 4 && at < udp {
                let sum = updated(self.word(IPV4_CHECKSUM), before, word);
                self.set_word(IPV4_CHECKSUM, sum);
            }
        }
    }

    fn word(&self, at: usize) -> u16 {
        self.0.get(at..at + 2).map_or(0, |word| u16::from_be_bytes([word[0], word[1]]))
    }

    fn set_word(&mut self, at: usize, word: u16) {
        if let Some(place) = self.0.get_mut(at..at + 2) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }
}

/// Returns a checksum after one word has changed (RFC 1624 §3).
fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

impl Packet for IpPacket {
    fn bytes(&self) -> usize {
        self.0.len()
    }

    fn addresses(&self) -> Option<[IpAddr; 2]> {
        let places = self.places()?;
        Some([self.address(&places.source)?, self.address(&places.destination)?])
    }

    fn transport(&self) -> Transport {
        const UDP_HEADER: usize = 8;
        match self.segment() {
            Some((UDP, udp)) if !self.is_ipv4_fragment() && self.0.len() >= udp + UDP_HEADER => {
                Transport::Udp([self.word(udp), self.word(udp + 2)])
            }
            Some((UDP, _)) => Transport::Fragment,
            Some((IPV6_FRAGMENT, header)) if self.0.get(header) == Some(&UDP) => {
                Transport::Fragment
            }
            _ => Transport::Other,
        }
    }

    fn set_source(&mut self, source: SocketAddr) {
        if let Some(places) = self.places() {
            self.translate(&places.source, 0, source);
        }
    }

    fn set_destination(&mut self, destination: SocketAddr) {
        if let Some(places) = self.places() {
            self.translate(&places.destination, 2, destination);
        }
    }

    fn is_syn_with_data(&self) -> bool {
        const SYN_ACK: u8 = 0x12;
        const SYN: u8 = 0x02;
        let Some((protocol, header)) = self.segment() else { return false };
        let Some(segment) = self.0.get(header..) else { return false };
        // RFC 9293 §3.1: the header counts its length in words of four bytes.
        let (Some(offset), Some(flags)) = (segment.get(12), segment.get(13)) else { return false };
        protocol == TCP && flags & SYN_ACK == SYN && segment.len() > usize::from(offset >> 4) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(flags: u8, options: usize, data: usize) -> IpPacket {
        let mut packet = vec![0; 20 + 20 + options + data];
        packet[0] = 0x45;
        packet[9] = TCP;
        packet[20 + 12] = (((20 + options) / 4) << 4) as u8;
        packet[20 + 13] = flags;
        IpPacket(packet)
    }

    /// The sum of all words as they are sent; 0xffff where the checksum among them is right (RFC 1071 §1).
    fn sum(parts: &[&[u8]]) -> u32 {
        let words = parts.iter().flat_map(|part| part.chunks(2));
        let sum: u32 =
            words.map(|it| (u32::from(it[0]) << 8) | u32::from(*it.get(1).unwrap_or(&0))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        (folded & 0xffff) + (folded >> 16)
    }

    /// The sum of a datagram with its pseudo header (RFC 768, RFC 8200 §8.1).
    fn udp_sum(IpPacket(packet): &IpPacket) -> u32 {
        let (addresses, udp) = if packet[0] >> 4 == 4 { (12..20, 20) } else { (8..40, 40) };
        let length = (packet.len() - udp) as u16;
        sum(&[&packet[addresses], &[0, UDP], &length.to_be_bytes(), &packet[udp..]])
    }

    fn udp(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> IpPacket {
        let mut packet = match (from.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let mut header =
                    vec![0x45, 0, 0, 28 + payload.len() as u8, 0, 1, 0x40, 0, 64, UDP, 0, 0];
                header.extend(from.octets().into_iter().chain(to.octets()));
                let checksum = !(sum(&[&header]) as u16);
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                header
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let mut header = vec![0x60, 0, 0, 0, 0, 8 + payload.len() as u8, UDP, 64];
                header.extend(from.octets().into_iter().chain(to.octets()));
                header
            }
            _ => panic!("two families"),
        };
        let udp = packet.len();
        for word in [from.port(), to.port(), 8 + payload.len() as u16, 0] {
            packet.extend(word.to_be_bytes());
        }
        packet.extend(payload);
        let mut packet = IpPacket(packet);
        let checksum = !(udp_sum(&packet) as u16);
        packet.set_word(udp + 6, if checksum == 0 { 0xffff } else { checksum });
        packet
    }

    fn sockets(packet: &IpPacket) -> [SocketAddr; 2] {
        let Transport::Udp(ports) = packet.transport() else { panic!("not UDP") };
        let addresses = packet.addresses().unwrap();
        [0, 1].map(|i| SocketAddr::new(addresses[i], ports[i]))
    }

    #[test]
    fn a_syn_with_data_is_distinguished_from_every_other_packet() {
        assert!(tcp(0x02, 20, 1).is_syn_with_data());
        // With ECN (RFC 3168 §6.1.1).
        assert!(tcp(0xc2, 0, 1).is_syn_with_data());
        assert!(!tcp(0x02, 20, 0).is_syn_with_data(), "no data");
        assert!(!tcp(0x12, 20, 1).is_syn_with_data(), "a SYN-ACK");
        assert!(!tcp(0x18, 20, 1).is_syn_with_data(), "no SYN");
        let mut other = tcp(0x02, 20, 1);
        other.0[9] = UDP;
        assert!(!other.is_syn_with_data(), "UDP");
        let whole = tcp(0x02, 20, 1);
        for length in 0..whole.0.len() {
            assert!(!IpPacket(whole.0[..length].to_vec()).is_syn_with_data(), "{length} bytes");
        }
    }

    #[test]
    fn translated_datagrams_have_right_checksums() {
        for [client, server, external] in [
            ["10.77.0.1:5000", "10.77.0.2:4433", "10.77.0.129:61000"],
            ["[fd77::1]:5000", "[fd77::2]:4433", "[fd77::81]:61000"],
        ] {
            let [client, server, external] =
                [client, server, external].map(|it| it.parse::<SocketAddr>().unwrap());
            for payload in 0..=255_u8 {
                let mut packet = udp(client, server, &[payload, 1, payload]);
                for check in 0..3 {
                    match check {
                        0 => {}
                        1 => packet.set_source(external),
                        _ => packet.set_destination(client),
                    }
                    let expected = [[client, server], [external, server], [external, client]];
                    assert_eq!(sockets(&packet), expected[check]);
                    assert_eq!(udp_sum(&packet), 0xffff, "{check}");
                    assert!(packet.version() == 6 || sum(&[&packet.0[..20]]) == 0xffff, "{check}");
                }
            }
        }
    }

    #[test]
    fn a_datagram_without_a_checksum_keeps_none() {
        let socket = |text: &str| text.parse::<SocketAddr>().unwrap();
        let mut packet = udp(socket("10.77.0.1:5000"), socket("10.77.0.2:4433"), b"x");
        packet.set_word(26, 0);
        packet.set_source(socket("10.77.0.129:61000"));
        assert_eq!(packet.word(26), 0);
    }

    #[test]
    fn fragments_and_what_is_cut_short_have_no_ports() {
        let socket = |text: &str| text.parse::<SocketAddr>().unwrap();
        let whole = udp(socket("10.77.0.1:5000"), socket("10.77.0.2:4433"), b"x");
        // More fragments follow; the last one. (The flag of whole packets is "don't fragment".)
        for (flags, is_fragment) in [(0x4000, false), (0x2000, true), (0x0010, true)] {
            let mut packet = whole.clone();
            packet.set_word(6, flags);
            assert_eq!(matches!(packet.transport(), Transport::Fragment), is_fragment);
        }
        for length in 0..28 {
            let packet = IpPacket(whole.0[..length].to_vec());
            assert!(!matches!(packet.transport(), Transport::Udp(_)), "{length} bytes");
            assert_eq!(packet.addresses().is_some(), length >= 20, "{length} bytes");
        }
        let mut ipv6 = udp(socket("[fd77::1]:5000"), socket("[fd77::2]:4433"), b"x");
        ipv6.0[6] = IPV6_FRAGMENT;
        ipv6.0[40] = UDP;
        assert!(matches!(ipv6.transport(), Transport::Fragment));
        assert!(matches!(tcp(0x02, 0, 0).transport(), Transport::Other));
        assert!(IpPacket(vec![0x50; 60]).addresses().is_none());
    }
}
