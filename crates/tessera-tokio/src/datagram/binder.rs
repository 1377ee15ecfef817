//! Sockets for single associations of a server.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use tessera::AddressPrefix;
use tessera::crypto::Random;
use tokio::net::UdpSocket;

/// Where a server binds the sockets that associations have of their own.
#[derive(Debug, Clone)]
pub enum SocketAddresses {
    /// At ports of this range of one IP address; `0..=0`: at any that the system chooses.
    Ports(IpAddr, RangeInclusive<u16>),
    /// At addresses with this prefix, of which all must be local, and at this port, which may be that of the shared socket
    /// if that is bound to one address. Linux makes a prefix local with `ip -6 route add local PREFIX dev lo`. Clients must
    /// learn the address: set [`announces_ip`](tessera_endpoint::OwnSockets::announces_ip).
    Prefix(AddressPrefix, u16),
}

/// Binds sockets at addresses in random order.
pub(super) struct Binder {
    addresses: SocketAddresses,
    random: &'static dyn Random,
    not_before: Duration,
}

impl Binder {
    pub(super) fn new(addresses: SocketAddresses, random: &'static dyn Random) -> Self {
        Self { addresses, random, not_before: Duration::ZERO }
    }

    /// Returns whether it is worth trying.
    pub(super) fn may_bind(&self, now: Duration) -> bool {
        self.not_before <= now
    }

    /// Waits for ports or descriptors to become free.
    pub(super) fn note_failure(&mut self, now: Duration) {
        self.not_before = now + PAUSE;
    }

    /// Binds a socket at a random address.
    pub(super) fn bind(&self) -> io::Result<UdpSocket> {
        let mut last = io::ErrorKind::AddrInUse.into();
        for _ in 0..MAX_DRAWS {
            let bound = std::net::UdpSocket::bind(self.draw()?).and_then(|socket| {
                socket.set_nonblocking(true)?;
                UdpSocket::from_std(socket)
            });
            match bound {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
                bound => return bound,
            }
        }
        Err(last)
    }

    fn draw(&self) -> io::Result<SocketAddr> {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes).map_err(|_| io::ErrorKind::Other)?;
        let drawn = u128::from_be_bytes(bytes);
        Ok(match &self.addresses {
            SocketAddresses::Ports(ip, ports) => {
                let count = u128::from(ports.end().saturating_sub(*ports.start())) + 1;
                (*ip, ports.start() + (drawn % count) as u16).into()
            }
            SocketAddresses::Prefix(prefix, port) => match prefix.first() {
                IpAddr::V6(first) => {
                    let rest = u128::MAX.checked_shr(prefix.bits().into()).unwrap_or(0);
                    (Ipv6Addr::from_bits(first.to_bits() | drawn & rest), *port).into()
                }
                first => (first, *port).into(),
            },
        })
    }
}

/// How long to wait after a failure.
const PAUSE: Duration = Duration::from_millis(100);

/// How many addresses are tried that may be in use.
const MAX_DRAWS: usize = 16;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn addresses_are_drawn_out_of_all_of_the_prefix_and_not_from_outside() {
        let random = tessera_aws_lc::provider().random;
        for bits in [0, 1, 64, 100, 127, 128] {
            let prefix = AddressPrefix::new("2001:db8:1:2::".parse().unwrap(), bits).unwrap();
            let binder = Binder::new(SocketAddresses::Prefix(prefix, 5684), random);
            let drawn: HashSet<_> = (0..200).map(|_| binder.draw().unwrap()).collect();
            assert!(drawn.iter().all(|it| prefix.contains(it.ip()) && it.port() == 5684));
            let expected = 1_u64.checked_shl(128 - u32::from(bits)).unwrap_or(u64::MAX).min(200);
            assert_eq!(drawn.len() as u64, expected, "of 2^{}", 128 - bits);
        }
        let prefix = AddressPrefix::new(IpAddr::from([192, 0, 2, 1]), 32).unwrap();
        let binder = Binder::new(SocketAddresses::Prefix(prefix, 5684), random);
        assert_eq!(binder.draw().unwrap(), SocketAddr::from(([192, 0, 2, 1], 5684)));
    }
}
