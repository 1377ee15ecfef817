//! Classifies packets by their headers.

/// Whether this is a packet of the link's endpoints. Kernels also announce themselves by IPv6 when an interface
/// appears; these packets would draw random numbers too, and make every run differ.
pub(crate) fn is_ipv4(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 4)
}

/// Whether this IPv4 packet is a SYN that carries data (RFC 7413).
pub(crate) fn is_syn_with_data(packet: &[u8]) -> bool {
    const TCP: u8 = 6;
    const SYN_ACK: u8 = 0x12;
    const SYN: u8 = 0x02;
    // RFC 791 §3.1, RFC 9293 §3.1: both headers count their length in words of four bytes.
    let (Some(first), Some(protocol)) = (packet.first(), packet.get(9)) else { return false };
    let header = usize::from(first & 0x0f) * 4;
    let Some(segment) = packet.get(header..) else { return false };
    let (Some(offset), Some(flags)) = (segment.get(12), segment.get(13)) else { return false };
    *protocol == TCP && flags & SYN_ACK == SYN && segment.len() > usize::from(offset >> 4) * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(protocol: u8, flags: u8, options: usize, data: usize) -> Vec<u8> {
        let mut packet = vec![0; 20 + 20 + options + data];
        packet[0] = 0x45;
        packet[9] = protocol;
        packet[20 + 12] = (((20 + options) / 4) << 4) as u8;
        packet[20 + 13] = flags;
        packet
    }

    #[test]
    fn a_syn_with_data_is_distinguished_from_every_other_packet() {
        assert!(is_syn_with_data(&packet(6, 0x02, 20, 1)));
        // With ECN (RFC 3168 §6.1.1).
        assert!(is_syn_with_data(&packet(6, 0xc2, 0, 1)));
        assert!(!is_syn_with_data(&packet(6, 0x02, 20, 0)), "no data");
        assert!(!is_syn_with_data(&packet(6, 0x12, 20, 1)), "a SYN-ACK");
        assert!(!is_syn_with_data(&packet(6, 0x18, 20, 1)), "no SYN");
        assert!(!is_syn_with_data(&packet(17, 0x02, 20, 1)), "UDP");
        let whole = packet(6, 0x02, 20, 1);
        for length in 0..whole.len() {
            assert!(!is_syn_with_data(&whole[..length]), "{length} bytes");
        }
        assert!(is_ipv4(&whole) && !is_ipv4(&[0x60]) && !is_ipv4(&[]));
    }
}
