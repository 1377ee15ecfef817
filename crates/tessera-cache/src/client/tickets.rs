//! A client's own tickets for one server.

use alloc::collections::VecDeque;

use crate::chain_hash::ChainHash;
use crate::ids::{TICKETS, Ticket};
use crate::wire::SealedTicket;

/// The tickets that are left, those of the newest handshake first.
#[derive(Clone, Default)]
pub(crate) struct OwnTickets {
    derived: VecDeque<OfHandshake>,
    /// Those that servers of a fleet gave, each with the chain that it stands for, the newest first.
    sealed: VecDeque<OwnSealed>,
}

/// The tickets of one handshake: the current one, and the spare.
#[derive(Clone)]
struct OfHandshake {
    /// The chain that they stand for.
    chain: ChainHash,
    left: Left,
}

/// What is left of the tickets of one handshake.
pub(super) type Left = [Option<Ticket>; TICKETS];

/// A ticket, and the chain that it stands for.
pub(crate) type OwnTicket = (Ticket, ChainHash);

/// A sealed ticket, and the chain that it stands for.
pub(crate) type OwnSealed = (SealedTicket, ChainHash);

/// The tickets for a ClientHello.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) derived: [Option<OwnTicket>; TICKETS],
    pub(crate) sealed: Option<OwnSealed>,
}

/// How many sealed tickets are kept.
const SEALED: usize = 4;

/// Of how many handshakes tickets are kept: as many as a server keeps.
const HANDSHAKES: usize = 4;

impl OwnTickets {
    /// The tickets of a handshake that is complete.
    pub(crate) fn add(&mut self, chain: ChainHash, tickets: [Option<Ticket>; TICKETS]) {
        self.derived.truncate(HANDSHAKES - 1);
        self.derived.push_front(OfHandshake { chain, left: tickets });
    }

    /// The tickets for the next ClientHello; they are never given again.
    ///
    /// The first is the newest. If the server didn't see the end of that handshake (its last flight was
    /// lost), it knows neither of its tickets: so the second is one of an earlier handshake. Where only one
    /// handshake has tickets left, its spare stays for that. Both are for the chain that was sent last: after a
    /// resumption the client can't tell which of the two was found.
    pub(crate) fn take(&mut self) -> Shown {
        let newest = self.take_from(0, None);
        let earlier = newest.and_then(|(at, (_, chain))| self.take_from(at + 1, Some(chain)));
        self.derived.retain(|it| it.left.iter().any(Option::is_some));
        let chain = newest.map(|(_, (_, chain))| chain);
        let of_chain = |(_, own): &OwnSealed| chain.is_none_or(|chain| *own == chain);
        let sealed = self.sealed.iter().position(of_chain).and_then(|at| self.sealed.remove(at));
        Shown { derived: [newest, earlier].map(|taken| taken.map(|(_, ticket)| ticket)), sealed }
    }

    /// A server has given a sealed one for this chain.
    pub(crate) fn add_sealed(&mut self, chain: ChainHash, ticket: SealedTicket) {
        self.sealed.truncate(SEALED - 1);
        self.sealed.push_front((ticket, chain));
    }

    /// Those that are sealed, the newest first.
    pub(super) fn sealed(&self) -> impl ExactSizeIterator<Item = &OwnSealed> {
        self.sealed.iter()
    }

    /// Puts back a sealed one behind all that are there.
    pub(super) fn put_sealed_before(&mut self, chain: ChainHash, ticket: SealedTicket) {
        if self.sealed.len() < SEALED {
            self.sealed.push_back((ticket, chain));
        }
    }

    /// What is left of each handshake, and the chain that it stands for, the newest first.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = (&ChainHash, &Left)> {
        self.derived.iter().map(|it| (&it.chain, &it.left))
    }

    /// Puts back what was left of a handshake before all that are there.
    pub(super) fn put_before(&mut self, chain: ChainHash, left: Left) {
        if self.derived.len() < HANDSHAKES {
            self.derived.push_back(OfHandshake { chain, left });
        }
    }

    /// About how many bytes they take.
    pub(crate) fn cost(&self) -> usize {
        let sealed = self.sealed.iter().map(|(it, _)| size_of::<OwnSealed>() + it.sealed.len());
        self.derived.len() * size_of::<OfHandshake>() + sealed.sum::<usize>()
    }

    /// Takes a ticket of the newest handshake that has one left for this chain, or for the one that was sent
    /// last, not counting the first few handshakes.
    fn take_from(
        &mut self,
        skipped: usize,
        chain: Option<ChainHash>,
    ) -> Option<(usize, OwnTicket)> {
        let chain = chain.or(self.derived.front().map(|it| it.chain))?;
        let left = self.derived.iter_mut().enumerate().skip(skipped);
        left.filter(|(_, it)| it.chain == chain).find_map(|(at, it)| {
            let ticket = it.left.iter_mut().find_map(Option::take)?;
            Some((at, (ticket, it.chain)))
        })
    }
}

#[cfg(test)]
mod tests {
    use tessera::wire::CertificateCompressionAlgorithm as Id;

    use super::{ChainHash, OwnTickets, SEALED, SealedTicket, Ticket};

    const ONE: ChainHash = ChainHash([1; 32]);
    const OTHER: ChainHash = ChainHash([2; 32]);

    fn sealed(number: u8) -> SealedTicket {
        SealedTicket { id: Id(0xc000), sealed: [number].into() }
    }

    /// After a resumption nobody could tell which of them was found.
    #[test]
    fn all_tickets_of_a_hello_are_for_one_chain() {
        let ticket = |byte| Some(Ticket { bytes: [byte; 8], id: Id(0xc000) });
        let mut own = OwnTickets::default();
        own.add(ONE, [ticket(1), ticket(2)]);
        for (chain, number) in [(ONE, 1), (OTHER, 2), (ONE, 3), (OTHER, 4)] {
            own.add_sealed(chain, sealed(number));
        }
        let mut shown = || {
            let shown = own.take();
            let derived =
                shown.derived.map(|it| it.map(|(ticket, chain)| (ticket.bytes[0], chain)));
            (derived, shown.sealed.map(|(ticket, chain)| (ticket.sealed[0], chain)))
        };
        assert_eq!(shown(), ([Some((1, ONE)), None], Some((3, ONE))));
        assert_eq!(shown(), ([Some((2, ONE)), None], Some((1, ONE))));
        assert_eq!(shown(), ([None, None], Some((4, OTHER))));
        assert_eq!(shown(), ([None, None], Some((2, OTHER))));
        assert_eq!(shown(), ([None, None], None));
    }

    #[test]
    fn the_newest_sealed_tickets_are_kept() {
        let mut own = OwnTickets::default();
        let before = own.cost();
        (0..9).for_each(|number| own.add_sealed(ONE, sealed(number)));
        assert_eq!(own.sealed().len(), SEALED);
        assert!(own.cost() > before + SEALED);
        let shown = own.take().sealed.map(|(ticket, _)| ticket.sealed[0]);
        assert_eq!(shown, Some(8));
        own.put_sealed_before(ONE, sealed(1));
        own.put_sealed_before(ONE, sealed(0));
        assert_eq!(own.sealed().len(), SEALED);
        let last = own.sealed().last().map(|(ticket, _)| ticket.sealed[0]);
        assert_eq!(last, Some(1));
    }
}
