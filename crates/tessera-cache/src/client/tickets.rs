//! A client's own tickets for one server.

use alloc::collections::VecDeque;

use crate::chain_hash::ChainHash;
use crate::ids::{TICKETS, Ticket};

/// The tickets that are left, those of the newest handshake first.
#[derive(Clone, Default)]
pub(crate) struct OwnTickets(VecDeque<OfHandshake>);

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

/// Of how many handshakes tickets are kept: as many as a server keeps.
const HANDSHAKES: usize = 4;

impl OwnTickets {
    /// The tickets of a handshake that is complete.
    pub(crate) fn add(&mut self, chain: ChainHash, tickets: [Option<Ticket>; TICKETS]) {
        self.0.truncate(HANDSHAKES - 1);
        self.0.push_front(OfHandshake { chain, left: tickets });
    }

    /// The tickets for the next ClientHello; they are never given again.
    ///
    /// The first is the newest. If the server didn't see the end of that handshake (its last flight was
    /// lost), it knows neither of its tickets: so the second is one of an earlier handshake. Where only one
    /// handshake has tickets left, its spare stays for that. Both are for the chain that was sent last: after a
    /// resumption the client can't tell which of the two was found.
    pub(crate) fn take(&mut self) -> [Option<OwnTicket>; TICKETS] {
        let newest = self.take_from(0, None);
        let earlier = newest.and_then(|(at, (_, chain))| self.take_from(at + 1, Some(chain)));
        self.0.retain(|it| it.left.iter().any(Option::is_some));
        [newest, earlier].map(|taken| taken.map(|(_, ticket)| ticket))
    }

    /// What is left of each handshake, and the chain that it stands for, the newest first.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = (&ChainHash, &Left)> {
        self.0.iter().map(|it| (&it.chain, &it.left))
    }

    /// Puts back what was left of a handshake before all that are there.
    pub(super) fn put_before(&mut self, chain: ChainHash, left: Left) {
        if self.0.len() < HANDSHAKES {
            self.0.push_back(OfHandshake { chain, left });
        }
    }

    /// About how many bytes they take.
    pub(crate) fn cost(&self) -> usize {
        self.0.len() * size_of::<OfHandshake>()
    }

    /// Takes a ticket of the newest handshake that has one left for this chain, or for the one that was sent
    /// last, not counting the first few handshakes.
    fn take_from(
        &mut self,
        skipped: usize,
        chain: Option<ChainHash>,
    ) -> Option<(usize, OwnTicket)> {
        let chain = chain.or(self.0.front().map(|it| it.chain))?;
        let left = self.0.iter_mut().enumerate().skip(skipped);
        left.filter(|(_, it)| it.chain == chain).find_map(|(at, it)| {
            let ticket = it.left.iter_mut().find_map(Option::take)?;
            Some((at, (ticket, it.chain)))
        })
    }
}
