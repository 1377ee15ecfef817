//! A TCP segment, as an observer on the path parses it.

use std::net::SocketAddrV4;

/// The headers and the payload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    pub(crate) from: SocketAddrV4,
    pub(crate) to: SocketAddrV4,
    pub(crate) sequence: u32,
    pub(crate) is_syn: bool,
    pub(crate) payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Parses an IPv4 packet (RFC 791 §3.1, RFC 9293 §3.1); `None` if it isn't a complete TCP segment.
    pub(crate) fn read(packet: &'a [u8]) -> Option<Self> {
        const TCP: u8 = 6;
        const SYN: u8 = 0x02;
        let first = *packet.first()?;
        let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
        // Anything after the packet pads the link's frame.
        let packet = packet.get(..total)?;
        // Both headers count their length in words of four bytes.
        let (ip, segment) = packet.split_at_checked(usize::from(first & 0x0f) * 4)?;
        if first >> 4 != 4 || ip.len() < 20 || ip[9] != TCP || segment.len() < 20 {
            return None;
        }
        let address = |at: usize, port: usize| {
            let octets: [u8; 4] = ip[at..at + 4].try_into().ok()?;
            let port = u16::from_be_bytes([segment[port], segment[port + 1]]);
            Some(SocketAddrV4::new(octets.into(), port))
        };
        Some(Self {
            from: address(12, 0)?,
            to: address(16, 2)?,
            sequence: u32::from_be_bytes(segment[4..8].try_into().ok()?),
            is_syn: segment[13] & SYN != 0,
            payload: segment.get(usize::from(segment[12] >> 4) * 4..)?,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a packet without checksums, which observers ignore.
    pub(crate) fn packet(
        from: SocketAddrV4,
        to: SocketAddrV4,
        sequence: u32,
        flags: u8,
        payload: &[u8],
    ) -> Vec<u8> {
        let mut packet = vec![0; 24 + 28];
        packet[0] = 0x46;
        packet[2..4].copy_from_slice(&((52 + payload.len()) as u16).to_be_bytes());
        packet[9] = 6;
        packet[12..16].copy_from_slice(&from.ip().octets());
        packet[16..20].copy_from_slice(&to.ip().octets());
        packet[24..26].copy_from_slice(&from.port().to_be_bytes());
        packet[26..28].copy_from_slice(&to.port().to_be_bytes());
        packet[28..32].copy_from_slice(&sequence.to_be_bytes());
        packet[36] = 7 << 4;
        packet[37] = flags;
        packet.extend_from_slice(payload);
        packet
    }

    #[test]
    fn a_segment_is_read_past_both_headers_options() {
        let (from, to) = ("10.77.0.1:50000".parse().unwrap(), "10.77.0.2:443".parse().unwrap());
        let mut bytes = packet(from, to, 0xdead_beef, 0x18, b"data");
        let segment = Segment { from, to, sequence: 0xdead_beef, is_syn: false, payload: b"data" };
        assert_eq!(Segment::read(&bytes), Some(segment));
        assert!(Segment::read(&packet(from, to, 1, 0x12, b"")).unwrap().is_syn);
        // Padding of a frame is no payload.
        bytes.extend_from_slice(&[0; 6]);
        assert_eq!(Segment::read(&bytes).unwrap().payload, b"data");
    }

    #[test]
    fn malformed_segments_are_not_read() {
        let (from, to) = ("10.77.0.1:50000".parse().unwrap(), "10.77.0.2:443".parse().unwrap());
        let whole = packet(from, to, 1, 0x18, b"data");
        for length in 0..whole.len() {
            assert_eq!(Segment::read(&whole[..length]), None, "{length} bytes");
        }
        let changed = |at: usize, value: u8| {
            let mut packet = whole.clone();
            packet[at] = value;
            packet
        };
        for (at, value) in [(0, 0x66), (0, 0x44), (0, 0x4f), (9, 17), (36, 0xf0)] {
            assert_eq!(Segment::read(&changed(at, value)), None, "byte {at} is {value}");
        }
    }
}
