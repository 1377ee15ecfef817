//! The parameters of a link, its two ends, and its kind.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::time::Duration;

use crate::error::LinkError;
use crate::nat::Nat;

/// The smallest packet size that every IPv4 link must carry.
const SMALLEST_MTU: u16 = 68;

/// The smallest packet size that every IPv6 link must carry (RFC 8200 §5).
pub(crate) const SMALLEST_IPV6_MTU: u16 = 1280;

/// One of the two ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The end that connects.
    Client,
    /// The end that accepts connections.
    Server,
}

/// How a link is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// Both ends share the machine's loopback interface, and nothing is emulated.
    Loopback,
    /// Each end has its own network namespace, and the link between them is emulated.
    Tun,
    /// [`LinkKind::Tun`] where the machine allows it, [`LinkKind::Loopback`] where it does not.
    #[default]
    Auto,
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Loopback => "loopback",
            Self::Tun => "tun",
            Self::Auto => "auto",
        })
    }
}

impl FromStr for LinkKind {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "loopback" => Ok(Self::Loopback),
            "tun" => Ok(Self::Tun),
            "auto" => Ok(Self::Auto),
            _ => Err(LinkError::Parameters("a link must be loopback, tun or auto")),
        }
    }
}

/// The addresses of a link's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkAddresses {
    /// The server's address, to which the client connects.
    pub server: IpAddr,
    /// The client's address, as the server sees it without a [NAT](LinkParameters::nat).
    pub client: IpAddr,
}

impl LinkAddresses {
    /// The addresses if both ends share the loopback interface.
    pub(crate) const LOOPBACK: Self =
        Self { server: IpAddr::V4(Ipv4Addr::LOCALHOST), client: IpAddr::V4(Ipv4Addr::LOCALHOST) };

    /// Returns the addresses of the emulated link with this number in its network. They exist only in the network's own
    /// namespaces, so any number of networks can use them at once without clashes among themselves or with the
    /// machine's.
    pub(crate) const fn tun(number: u8) -> Self {
        Self {
            server: IpAddr::V4(Ipv4Addr::new(10, 77, number, 2)),
            client: IpAddr::V4(Self::client(number, 0)),
        }
    }

    /// Returns the client's address of the path with this number, below 100.
    pub(crate) const fn client(link: u8, path: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, link, if path == 0 { 1 } else { 2 + path })
    }

    /// Returns the external address of the NAT of the path with this number.
    pub(crate) const fn external(link: u8, path: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, link, 129 + path)
    }

    /// Returns the addresses of the same ends in IPv6, which an emulated link carries where its mtu is at least 1280
    /// bytes and the kernel has IPv6.
    #[must_use]
    pub fn ipv6(&self) -> Self {
        Self { server: Self::in_ipv6(self.server), client: Self::in_ipv6(self.client) }
    }

    /// Returns the address of IPv6 that belongs to another.
    pub(crate) fn in_ipv6(address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(Ipv4Addr::LOCALHOST) => Ipv6Addr::LOCALHOST.into(),
            IpAddr::V4(ipv4) => {
                let [.., link, host] = ipv4.octets().map(u16::from);
                Ipv6Addr::new(0xfd77, 0, 0, link, 0, 0, 0, host).into()
            }
            ipv6 @ IpAddr::V6(_) => ipv6,
        }
    }

    /// Returns the address of one end.
    #[must_use]
    pub fn of(&self, end: End) -> IpAddr {
        match end {
            End::Client => self.client,
            End::Server => self.server,
        }
    }
}

/// How long packets wait behind those of others: the delay of each packet in each direction is drawn from the
/// exponential distribution with this mean.
///
/// A packet does not overtake an earlier one unless [`LinkParameters::reordering`] allows it, so packets that follow
/// each other closely wait longer than the mean: the slowest of them holds up those behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Congestion {
    /// No other traffic.
    #[default]
    None,
    /// The mean is this share of [`LinkParameters::rtt`], and changes with it.
    Share(f64),
    /// The mean.
    Mean(Duration),
}

/// When the client's end is down, again and again.
///
/// A packet is lost if the client's end is down when the packet would leave it or reach it. Times count from when the
/// link was opened or last set; in virtual time, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outages {
    /// When the first outage starts.
    pub first: Duration,
    /// How long each lasts.
    pub length: Duration,
    /// From the start of one to the start of the next; longer than the run for a single one.
    pub period: Duration,
}

impl Outages {
    /// Whether there is an outage at this time.
    #[must_use]
    pub fn is_at(&self, time: Duration) -> bool {
        let Some(since) = time.checked_sub(self.first) else { return false };
        // Validation refuses a period of zero.
        since.as_nanos().checked_rem(self.period.as_nanos()).unwrap_or(0) < self.length.as_nanos()
    }
}

/// What the link does to packets.
///
/// The same values hold in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkParameters {
    /// The round-trip time: each direction holds a packet for half of it.
    pub rtt: Duration,
    /// The most that a packet is delayed in addition; the actual delay of each packet is drawn uniformly from zero to
    /// this.
    pub jitter: Duration,
    /// Whether jitter may let a packet overtake an earlier one. Default: no, since TCP treats reordering as loss, and
    /// [`LinkParameters::loss`] is for that.
    pub reordering: bool,
    /// How long packets wait behind those of others, in addition.
    pub congestion: Congestion,
    /// The probability that a packet is lost, from 0 to 1.
    pub loss: f64,
    /// The mean number of packets lost in a row. The default, 1, loses each packet independently. A higher value loses
    /// as many packets, but together: it is at least `1 / (1 - loss)`, the mean of independent losses, and at most
    /// 10,000.
    pub loss_burst: f64,
    /// The probability that a packet arrives twice, from 0 to 1. The copy has a jitter and a congestion of its own, and
    /// takes none of the rate.
    pub duplication: f64,
    /// When the client's end is down.
    pub outages: Option<Outages>,
    /// The NAT at the client's end. It starts without mappings whenever the link is set.
    pub nat: Option<Nat>,
    /// Whether SYNs that carry data are lost, as in networks that treat TCP Fast Open (RFC 7413) as an attack.
    pub syn_data_lost: bool,
    /// The rate in bits per second; `None` for no limit. Whole IP packets count.
    pub rate: Option<u64>,
    /// How many bytes may wait for a link with a limited rate, the packet on the wire included. A packet that finds no
    /// room is dropped.
    pub queue: usize,
    /// The largest IP packet, in bytes.
    pub mtu: u16,
    /// The seed of the random numbers for loss, jitter, congestion and duplication, and of a NAT's ports. The same seed repeats the same decisions, packet
    /// by packet in the order of arrival.
    pub seed: u64,
}

impl Default for LinkParameters {
    /// Returns the parameters of a link that only carries packets.
    fn default() -> Self {
        Self {
            rtt: Duration::ZERO,
            jitter: Duration::ZERO,
            reordering: false,
            congestion: Congestion::None,
            loss: 0.0,
            loss_burst: 1.0,
            duplication: 0.0,
            outages: None,
            nat: None,
            syn_data_lost: false,
            rate: None,
            queue: 256 * 1024,
            mtu: 1500,
            seed: 0,
        }
    }
}

impl LinkParameters {
    /// Whether these parameters need no emulation.
    ///
    /// The loopback interface accepts only such parameters.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.rtt.is_zero()
            && self.jitter.is_zero()
            && self.congestion == Congestion::None
            && self.loss == 0.0
            && self.duplication == 0.0
            && self.outages.is_none()
            && self.nat.is_none()
            && !self.syn_data_lost
            && self.rate.is_none()
            && self.mtu == Self::default().mtu
    }

    /// Whether losses come in bursts, and not independently.
    #[must_use]
    pub fn loses_in_bursts(&self) -> bool {
        self.loss_burst != 1.0
    }

    /// Returns the mean delay by congestion, in one direction.
    #[must_use]
    pub fn mean_congestion(&self) -> Duration {
        match self.congestion {
            Congestion::None => Duration::ZERO,
            Congestion::Share(share) => self.rtt.mul_f64(share),
            Congestion::Mean(mean) => mean,
        }
    }

    /// Returns how long after the last packet a link with these parameters is quiet.
    ///
    /// Congestion can delay one packet in 20,000 for longer.
    #[must_use]
    pub fn settling_time(&self) -> Duration {
        self.rtt + self.jitter + self.mean_congestion() * 10
    }

    /// Rejects invalid values.
    pub(crate) fn validate(&self) -> Result<(), LinkError> {
        // A minute is far beyond any real path and keeps every sum of times far from overflow.
        const LONGEST: Duration = Duration::from_secs(60);
        if self.rtt > LONGEST || self.jitter > LONGEST {
            return Err(LinkError::Parameters("rtt and jitter must be at most 60 seconds"));
        }
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(LinkError::Parameters("loss must be a probability, from 0 to 1"));
        }
        if !(0.0..=1.0).contains(&self.duplication) {
            return Err(LinkError::Parameters("duplication must be a probability, from 0 to 1"));
        }
        if self.outages.is_some_and(|it| it.length.is_zero() || it.length >= it.period) {
            return Err(LinkError::Parameters(
                "an outage must be shorter than its period, and above 0",
            ));
        }
        if self.nat.is_some_and(|nat| nat.lifetime.is_some_and(|it| it.is_zero())) {
            return Err(LinkError::Parameters("a NAT's mappings must live longer than 0"));
        }
        self.validate_bursts()?;
        self.validate_congestion(LONGEST)?;
        if self.rate == Some(0) {
            return Err(LinkError::Parameters("a rate must be at least one bit per second"));
        }
        if self.mtu < SMALLEST_MTU {
            return Err(LinkError::Parameters("an IPv4 link's mtu must be at least 68 bytes"));
        }
        Ok(())
    }

    /// Rejects another mtu than that of the link.
    pub(crate) fn check_mtu(&self, mtu: usize) -> Result<(), LinkError> {
        if usize::from(self.mtu) == mtu {
            return Ok(());
        }
        Err(LinkError::Parameters("all addresses of a link's client have the mtu of the link"))
    }

    fn validate_bursts(&self) -> Result<(), LinkError> {
        const LONGEST: f64 = 10_000.0;
        if !self.loses_in_bursts() {
            return Ok(());
        }
        if self.loss == 0.0 || self.loss == 1.0 {
            return Err(LinkError::Parameters("bursts need a loss above 0 and below 1"));
        }
        if !(1.0 / (1.0 - self.loss)..=LONGEST).contains(&self.loss_burst) {
            return Err(LinkError::Parameters(
                "the mean length of a burst of losses must be from 1 / (1 - loss) to 10,000 packets",
            ));
        }
        Ok(())
    }

    fn validate_congestion(&self, longest: Duration) -> Result<(), LinkError> {
        match self.congestion {
            Congestion::Share(share) if !(share > 0.0 && share <= 1.0) => {
                Err(LinkError::Parameters(
                    "congestion must be a share of the rtt above 0 and at most 1, or a time",
                ))
            }
            Congestion::Mean(mean) if mean.is_zero() || mean > longest => {
                Err(LinkError::Parameters("congestion must be above 0 and at most 60 seconds"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nat::NatKind;

    fn outages(length: u64, period: u64) -> Option<Outages> {
        let [length, period] = [length, period].map(Duration::from_millis);
        Some(Outages { first: Duration::ZERO, length, period })
    }

    #[test]
    fn outages_recur_from_the_first() {
        let ms = Duration::from_millis;
        let outages = Outages { first: ms(50), ..outages(10, 100).unwrap() };
        let down: Vec<_> = (0..40).map(|i| 5 * i).filter(|i| outages.is_at(ms(*i))).collect();
        assert_eq!(down, [50, 55, 150, 155]);
    }

    #[test]
    fn kinds_of_links_are_parsed_from_what_they_print() {
        for kind in [LinkKind::Loopback, LinkKind::Tun, LinkKind::Auto] {
            assert_eq!(kind.to_string().parse::<LinkKind>().unwrap(), kind);
        }
        assert!("veth".parse::<LinkKind>().is_err());
    }

    #[test]
    fn impossible_link_parameters_are_refused() {
        let plain = LinkParameters::default();
        plain.validate().unwrap();
        for wrong in [
            LinkParameters { loss: 1.1, ..plain.clone() },
            LinkParameters { loss: -0.1, ..plain.clone() },
            LinkParameters { loss: f64::NAN, ..plain.clone() },
            LinkParameters { duplication: 1.1, ..plain.clone() },
            LinkParameters { duplication: f64::NAN, ..plain.clone() },
            LinkParameters { outages: outages(0, 10), ..plain.clone() },
            LinkParameters { outages: outages(10, 10), ..plain.clone() },
            LinkParameters {
                nat: Some(Nat { kind: NatKind::FullCone, lifetime: Some(Duration::ZERO) }),
                ..plain.clone()
            },
            LinkParameters { rate: Some(0), ..plain.clone() },
            LinkParameters { mtu: 67, ..plain.clone() },
            LinkParameters { rtt: Duration::from_secs(61), ..plain.clone() },
            LinkParameters { jitter: Duration::from_secs(61), ..plain.clone() },
            LinkParameters { loss_burst: 3.0, ..plain.clone() },
            LinkParameters { loss_burst: 3.0, loss: 1.0, ..plain.clone() },
            // A mean below that of independent losses.
            LinkParameters { loss_burst: 1.9, loss: 0.5, ..plain.clone() },
            LinkParameters { loss_burst: 0.0, loss: 0.5, ..plain.clone() },
            LinkParameters { loss_burst: f64::NAN, loss: 0.5, ..plain.clone() },
            LinkParameters { loss_burst: f64::INFINITY, loss: 0.5, ..plain.clone() },
            LinkParameters { congestion: Congestion::Share(0.0), ..plain.clone() },
            LinkParameters { congestion: Congestion::Share(1.1), ..plain.clone() },
            LinkParameters { congestion: Congestion::Share(f64::NAN), ..plain.clone() },
            LinkParameters { congestion: Congestion::Mean(Duration::ZERO), ..plain.clone() },
            LinkParameters {
                congestion: Congestion::Mean(Duration::from_secs(61)),
                ..plain.clone()
            },
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn bursts_from_those_of_chance_upwards_are_accepted() {
        for (loss, loss_burst) in [(0.5, 2.0), (0.5, 10_000.0), (0.001, 3.0), (0.9, 10.1)] {
            LinkParameters { loss, loss_burst, ..LinkParameters::default() }.validate().unwrap();
        }
    }

    #[test]
    fn a_share_of_congestion_follows_the_round_trip_time() {
        let ms = Duration::from_millis;
        let congestion = Congestion::Share(0.2);
        let near = LinkParameters { rtt: ms(50), congestion, ..LinkParameters::default() };
        assert_eq!(near.mean_congestion(), ms(10));
        assert_eq!(near.settling_time(), ms(150));
        assert_eq!(LinkParameters { rtt: ms(200), ..near.clone() }.mean_congestion(), ms(40));
        let fixed = LinkParameters { congestion: Congestion::Mean(ms(3)), ..near };
        assert_eq!(fixed.mean_congestion(), ms(3));
    }

    #[test]
    fn only_parameters_that_loopback_can_do_are_plain() {
        let plain = LinkParameters::default();
        assert!(plain.is_plain());
        assert!(LinkParameters { seed: 7, ..plain.clone() }.is_plain());
        for emulated in [
            LinkParameters { rtt: Duration::from_millis(1), ..plain.clone() },
            LinkParameters { jitter: Duration::from_millis(1), ..plain.clone() },
            LinkParameters { loss: 0.1, ..plain.clone() },
            LinkParameters { duplication: 0.1, ..plain.clone() },
            LinkParameters { outages: outages(1, 10), ..plain.clone() },
            LinkParameters { nat: Some(NatKind::FullCone.into()), ..plain.clone() },
            LinkParameters { congestion: Congestion::Share(0.1), ..plain.clone() },
            LinkParameters {
                congestion: Congestion::Mean(Duration::from_nanos(1)),
                ..plain.clone()
            },
            LinkParameters { syn_data_lost: true, ..plain.clone() },
            LinkParameters { rate: Some(1_000_000), ..plain.clone() },
            LinkParameters { mtu: 1280, ..plain.clone() },
        ] {
            assert!(!emulated.is_plain(), "{emulated:?}");
        }
    }
}
