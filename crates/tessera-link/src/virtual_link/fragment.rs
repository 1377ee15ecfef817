//! Fragments of datagrams, as IP carries them.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use super::Datagram;
use crate::paths::{Packet, Transport};

const UDP_HEADER: usize = 8;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
/// The header of a fragment (RFC 8200 §4.5).
const IPV6_FRAGMENT_HEADER: usize = 8;

/// A fragment of a datagram, or all of it.
#[derive(Clone)]
pub(super) struct Fragment {
    from: SocketAddr,
    to: SocketAddr,
    bytes: usize,
    index: usize,
    datagram: Arc<Fragmented>,
}

/// What the fragments of a datagram share.
struct Fragmented {
    payload: Vec<u8>,
    fragments: usize,
    arrived: Mutex<BTreeSet<usize>>,
}

/// Returns the packets that carry a datagram.
pub(super) fn fragments(datagram: Datagram, mtu: usize) -> impl Iterator<Item = Fragment> {
    let Datagram { from, to, payload } = datagram;
    let udp = UDP_HEADER + payload.len();
    let (header, fragment_header) = match to {
        SocketAddr::V4(_) => (IPV4_HEADER, 0),
        SocketAddr::V6(_) => (IPV6_HEADER, IPV6_FRAGMENT_HEADER),
    };
    let is_whole = header + udp <= mtu;
    let header = if is_whole { header } else { header + fragment_header };
    // All fragments but the last have a multiple of eight bytes.
    let each = if is_whole { udp } else { (mtu - header) / 8 * 8 };
    let fragments = udp.div_ceil(each);
    let datagram = Arc::new(Fragmented { payload, fragments, arrived: Mutex::default() });
    (0..fragments).map(move |index| Fragment {
        from,
        to,
        bytes: header + each.min(udp - index * each),
        index,
        datagram: Arc::clone(&datagram),
    })
}

impl Fragment {
    /// Returns the datagram if all of its fragments have arrived.
    pub(super) fn arrive(self) -> Option<Datagram> {
        let Self { from, to, index, datagram, .. } = self;
        let mut arrived = datagram.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        arrived.insert(index);
        if arrived.len() < datagram.fragments {
            return None;
        }
        // Copies can make a second one.
        arrived.clear();
        Some(Datagram { from, to, payload: datagram.payload.clone() })
    }
}

impl Packet for Fragment {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn addresses(&self) -> Option<[IpAddr; 2]> {
        Some([self.from.ip(), self.to.ip()])
    }

    fn transport(&self) -> Transport {
        match self.datagram.fragments {
            1 => Transport::Udp([self.from.port(), self.to.port()]),
            _ => Transport::Fragment,
        }
    }

    fn set_source(&mut self, source: SocketAddr) {
        self.from = source;
    }

    fn set_destination(&mut self, destination: SocketAddr) {
        self.to = destination;
    }

    fn is_syn_with_data(&self) -> bool {
        false
    }
}
