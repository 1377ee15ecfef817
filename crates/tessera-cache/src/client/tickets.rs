//! A client's own tickets for one server.

use alloc::collections::VecDeque;

use crate::chain_hash::ChainHash;
use crate::ids::{TICKETS, Ticket};
use crate::wire::FleetTicket;

/// The remaining tickets.
#[derive(Clone, Default)]
pub(crate) struct OwnTickets {
    /// Those of the newest handshake first.
    derived: VecDeque<HandshakeTickets>,
    /// Tickets from servers of a fleet, the newest first.
    fleet: VecDeque<OwnFleetTicket>,
}

/// The tickets of one handshake: the current one, and the spare.
#[derive(Clone)]
struct HandshakeTickets {
    /// The chain that they stand for.
    chain: ChainHash,
    left: RemainingTickets,
    /// One of them was sent: the remaining one is the spare.
    begun: bool,
}

/// The remaining tickets of one handshake.
pub(super) type RemainingTickets = [Option<Ticket>; TICKETS];

/// A ticket, and the chain that it stands for.
pub(crate) type OwnTicket = (Ticket, ChainHash);

/// A fleet ticket, and the chain that it stands for.
pub(crate) type OwnFleetTicket = (FleetTicket, ChainHash);

/// The tickets for a ClientHello.
#[derive(Default)]
pub(crate) struct HelloTickets {
    pub(crate) derived: [Option<OwnTicket>; TICKETS],
    pub(crate) fleet: Option<OwnFleetTicket>,
}

impl HelloTickets {
    fn is_empty(&self) -> bool {
        self.derived.iter().all(Option::is_none) && self.fleet.is_none()
    }
}

/// How many fleet tickets are kept.
const FLEET: usize = 4;

/// For how many handshakes tickets are kept: as many as a server keeps.
const HANDSHAKES: usize = 4;

impl OwnTickets {
    /// Adds the tickets of a complete handshake, if there is memory for them.
    pub(crate) fn add(&mut self, chain: ChainHash, tickets: [Option<Ticket>; TICKETS]) {
        self.derived.truncate(HANDSHAKES - 1);
        if self.derived.try_reserve(1).is_ok() {
            self.derived.push_front(HandshakeTickets::new(chain, tickets));
        }
    }

    /// Returns the tickets for the next ClientHello, and removes them for good.
    ///
    /// The first is the newest. If the server didn't see the end of that handshake (its last flight was
    /// lost), it knows neither of its tickets: so the second is the spare of an earlier handshake. If only
    /// one handshake has tickets left, its spare is kept for that case. Both are for one chain, that of the
    /// newest: after a resumption the client can't tell which of the two was found.
    pub(crate) fn take(&mut self) -> HelloTickets {
        let shown = self.take_next();
        self.drop_empty();
        shown
    }

    /// Adds a server's fleet ticket for this chain, if there is memory for it.
    pub(crate) fn add_fleet(&mut self, chain: ChainHash, ticket: FleetTicket) {
        self.fleet.truncate(FLEET - 1);
        if self.fleet.try_reserve(1).is_ok() {
            self.fleet.push_front((ticket, chain));
        }
    }

    /// Removes and returns what this many concurrent connections send.
    pub(super) fn take_for(&mut self, connections: usize) -> Self {
        let mut taken = Self { derived: self.derived.clone(), fleet: VecDeque::new() };
        for _ in 0..connections {
            let shown = self.take_next();
            if shown.is_empty() {
                break;
            }
            taken.fleet.extend(shown.fleet);
        }
        for (it, left) in taken.derived.iter_mut().zip(&self.derived) {
            let pairs = it.left.iter_mut().zip(&left.left);
            pairs.for_each(|(ticket, left)| *ticket = ticket.filter(|_| left.is_none()));
        }
        self.drop_empty();
        taken.drop_empty();
        taken
    }

    /// Adds newer tickets. Two separated tickets of one handshake are joined again, as far as can be
    /// determined: they must not be sent in one ClientHello.
    pub(super) fn put_all(&mut self, newer: Self) {
        let mut at = 0;
        for handshake in newer.derived {
            let other = self.derived.iter().skip(at).position(|it| it.lacks(&handshake));
            if let Some(it) = other.and_then(|ahead| self.derived.get_mut(at + ahead)) {
                let pairs = it.left.iter_mut().zip(handshake.left);
                pairs.for_each(|(left, ticket)| *left = left.or(ticket));
                it.begun = false;
            } else {
                self.derived.insert(at.min(self.derived.len()), handshake);
            }
            at += other.unwrap_or_default() + 1;
        }
        self.derived.truncate(HANDSHAKES);
        for (ticket, chain) in newer.fleet.into_iter().rev() {
            self.add_fleet(chain, ticket);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.derived.is_empty() && self.fleet.is_empty()
    }

    /// Returns the fleet tickets, the newest first.
    pub(super) fn fleet(&self) -> impl ExactSizeIterator<Item = &OwnFleetTicket> {
        self.fleet.iter()
    }

    /// Puts back a fleet ticket older than all present ones.
    pub(super) fn put_fleet_before(&mut self, chain: ChainHash, ticket: FleetTicket) {
        if self.fleet.len() < FLEET {
            self.fleet.push_back((ticket, chain));
        }
    }

    /// Returns the remaining tickets of each handshake with their chain, the newest first.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = (&ChainHash, &RemainingTickets)> {
        self.derived.iter().map(|it| (&it.chain, &it.left))
    }

    /// Puts back the remaining tickets of a handshake older than all present ones.
    pub(super) fn put_before(&mut self, chain: ChainHash, left: RemainingTickets) {
        if self.derived.len() < HANDSHAKES {
            self.derived.push_back(HandshakeTickets::new(chain, left));
        }
    }

    /// Returns roughly how many bytes they take.
    pub(crate) fn cost(&self) -> usize {
        let fleet = self.fleet.iter().map(|(it, _)| size_of::<OwnFleetTicket>() + it.sealed.len());
        self.derived.len() * size_of::<HandshakeTickets>() + fleet.sum::<usize>()
    }

    fn take_next(&mut self) -> HelloTickets {
        let derived = self.next().map(|place| {
            let place = place?;
            let it = self.derived.get_mut(place.handshake)?;
            it.begun = true;
            Some((it.left.get_mut(place.ticket)?.take()?, it.chain))
        });
        let chain = derived[0].map(|(_, chain)| chain);
        let of_chain = |(_, own): &OwnFleetTicket| chain.is_none_or(|chain| *own == chain);
        let fleet = self.fleet.iter().position(of_chain).and_then(|at| self.fleet.remove(at));
        HelloTickets { derived, fleet }
    }

    /// Finds the tickets for the next ClientHello. An earlier handshake with both tickets left has no spare:
    /// they are for concurrent connections.
    fn next(&self) -> [Option<Place>; TICKETS] {
        let mut with_tickets = self.derived.iter().enumerate().filter(|(_, it)| it.count() > 0);
        let Some((handshake, newest)) = with_tickets.next() else { return [None; TICKETS] };
        let spare = with_tickets.find(|(_, it)| it.chain == newest.chain && it.begun);
        let place = |handshake: usize, it: &HandshakeTickets| {
            let ticket = it.left.iter().position(Option::is_some)?;
            Some(Place { handshake, ticket })
        };
        [place(handshake, newest), spare.and_then(|(handshake, it)| place(handshake, it))]
    }

    fn drop_empty(&mut self) {
        self.derived.retain(|it| it.count() > 0);
    }
}

/// The handshake and the ticket of it.
#[derive(Clone, Copy)]
struct Place {
    handshake: usize,
    ticket: usize,
}

impl HandshakeTickets {
    fn new(chain: ChainHash, left: RemainingTickets) -> Self {
        let mut it = Self { chain, left, begun: false };
        it.begun = it.count() < TICKETS;
        it
    }

    /// Returns how many tickets are left.
    fn count(&self) -> usize {
        self.left.iter().flatten().count()
    }

    /// Whether these may be the missing tickets of the same handshake.
    fn lacks(&self, other: &Self) -> bool {
        let mut pairs = self.left.iter().zip(&other.left);
        self.chain == other.chain && pairs.all(|(one, other)| one.is_none() || other.is_none())
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use tessera::wire::CertificateCompressionAlgorithm as Id;

    use super::{ChainHash, FLEET, FleetTicket, HelloTickets, OwnTickets, Ticket};

    const ONE: ChainHash = ChainHash([1; 32]);
    const OTHER: ChainHash = ChainHash([2; 32]);

    fn fleet_ticket(number: u8) -> FleetTicket {
        FleetTicket { id: Id(0xc000), sealed: [number].into() }
    }

    /// Makes tickets of one handshake for the chain `ONE`, and fleet tickets for two chains.
    fn for_two_chains() -> OwnTickets {
        let ticket = |byte| Some(Ticket { bytes: [byte; 8], id: Id(0xc000) });
        let mut own = OwnTickets::default();
        own.add(ONE, [ticket(1), ticket(2)]);
        for (chain, number) in [(ONE, 1), (OTHER, 2), (ONE, 3), (OTHER, 4)] {
            own.add_fleet(chain, fleet_ticket(number));
        }
        own
    }

    type Numbered = Option<(u8, ChainHash)>;

    fn numbers(shown: HelloTickets) -> ([Numbered; 2], Numbered) {
        let derived = shown.derived.map(|it| it.map(|(ticket, chain)| (ticket.bytes[0], chain)));
        (derived, shown.fleet.map(|(ticket, chain)| (ticket.sealed[0], chain)))
    }

    fn fleet_numbers(own: &OwnTickets) -> Vec<u8> {
        own.fleet().map(|(ticket, _)| ticket.sealed[0]).collect()
    }

    /// After a resumption the client could not tell which of them was found.
    #[test]
    fn all_tickets_of_a_hello_are_for_one_chain() {
        let mut own = for_two_chains();
        let mut shown = || numbers(own.take());
        assert_eq!(shown(), ([Some((1, ONE)), None], Some((3, ONE))));
        assert_eq!(shown(), ([Some((2, ONE)), None], Some((1, ONE))));
        assert_eq!(shown(), ([None, None], Some((4, OTHER))));
        assert_eq!(shown(), ([None, None], Some((2, OTHER))));
        assert_eq!(shown(), ([None, None], None));
    }

    #[test]
    fn the_newest_fleet_tickets_are_kept() {
        let mut own = OwnTickets::default();
        let before = own.cost();
        (0..9).for_each(|number| own.add_fleet(ONE, fleet_ticket(number)));
        assert_eq!(own.fleet().len(), FLEET);
        assert!(own.cost() > before + FLEET);
        let shown = own.take().fleet.map(|(ticket, _)| ticket.sealed[0]);
        assert_eq!(shown, Some(8));
        own.put_fleet_before(ONE, fleet_ticket(1));
        own.put_fleet_before(ONE, fleet_ticket(0));
        assert_eq!(own.fleet().len(), FLEET);
        assert_eq!(fleet_numbers(&own).last(), Some(&1));
    }

    #[test]
    fn the_tickets_of_as_many_handshakes_are_kept_as_a_server_keeps() {
        let of = |numbers: std::ops::Range<u8>| {
            let mut own = OwnTickets::default();
            for byte in numbers {
                own.add(ONE, [Some(Ticket { bytes: [byte; 8], id: Id(0xc000) }); 2]);
            }
            own
        };
        let numbers = |own: &OwnTickets| {
            own.all().map(|(_, left)| left[0].map_or(0, |it| it.bytes[0])).collect::<Vec<_>>()
        };
        let mut kept = of(1..10);
        assert_eq!(numbers(&kept), [9, 8, 7, 6]);
        kept.put_before(OTHER, [None; 2]);
        assert_eq!(numbers(&kept), [9, 8, 7, 6]);
        kept.put_all(of(11..13));
        assert_eq!(numbers(&kept), [12, 11, 9, 8]);
    }

    #[test]
    fn tickets_of_several_handshakes_are_joined_each_with_its_own() {
        let ticket = |byte| Some(Ticket { bytes: [byte; 8], id: Id(0xc000) });
        let [mut kept, mut newer] = <[OwnTickets; 2]>::default();
        for left in [[None, ticket(32)], [ticket(21), ticket(22)], [None, ticket(12)]] {
            kept.put_before(ONE, left);
        }
        for left in [[ticket(31), None], [ticket(11), None]] {
            newer.put_before(ONE, left);
        }
        kept.put_all(newer);
        let all: Vec<_> =
            kept.all().map(|(_, left)| left.map(|it| it.map_or(0, |it| it.bytes[0]))).collect();
        assert_eq!(all, [[31, 32], [21, 22], [11, 12]]);
    }

    /// Otherwise it would be sent twice.
    #[test]
    fn a_fleet_ticket_is_in_one_of_two_caches() {
        let mut kept = OwnTickets::default();
        (0..4).for_each(|number| kept.add_fleet(ONE, fleet_ticket(number)));
        assert!(kept.take_for(0).is_empty());
        let taken = kept.take_for(3);
        assert_eq!((fleet_numbers(&taken), fleet_numbers(&kept)), ([3, 2, 1].into(), [0].into()));
        let rest = kept.take_for(usize::MAX);
        assert_eq!(fleet_numbers(&rest), [0]);
        assert!(kept.is_empty());
        // Unsent ones come back in their order.
        kept.put_all(rest);
        kept.put_all(taken);
        assert_eq!(fleet_numbers(&kept), [3, 2, 1, 0]);
    }

    /// A cache that takes over for two connections sends what the other cache would have sent.
    #[test]
    fn connections_of_another_cache_send_the_same_tickets() {
        let mut own = for_two_chains();
        let mut taken = own.take_for(2);
        assert_eq!(fleet_numbers(&own), [4, 2]);
        assert_eq!(numbers(taken.take()), ([Some((1, ONE)), None], Some((3, ONE))));
        assert_eq!(numbers(taken.take()), ([Some((2, ONE)), None], Some((1, ONE))));
        assert!(taken.is_empty());
        assert_eq!(numbers(own.take()), ([None, None], Some((4, OTHER))));
    }

    #[test]
    fn of_the_fleet_tickets_of_two_caches_the_newer_ones_are_kept() {
        let [mut kept, mut newer] = <[OwnTickets; 2]>::default();
        (0..3).for_each(|number| kept.add_fleet(ONE, fleet_ticket(number)));
        (3..6).for_each(|number| newer.add_fleet(ONE, fleet_ticket(number)));
        kept.put_all(newer);
        assert_eq!(fleet_numbers(&kept), [5, 4, 3, 2]);
        assert_eq!(kept.fleet().len(), FLEET);
    }
}
