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
    left: [Option<Ticket>; TICKETS],
}

/// A ticket, and the chain that it stands for.
pub(crate) type OwnTicket = (Ticket, ChainHash);

/// Of how many handshakes tickets are kept: as many as a server keeps.
const HANDSHAKES: usize = 4;

impl OwnTickets {
    /// The tickets of a handshake that is complete.
    pub(crate) fn add(&mut self, chain: ChainHash, tickets: [Ticket; TICKETS]) {
        self.0.truncate(HANDSHAKES - 1);
        self.0.push_front(OfHandshake { chain, left: tickets.map(Some) });
    }

    /// The tickets for the next ClientHello; they are never given again.
    ///
    /// The first is the newest. If the server didn't see the end of that handshake (its last flight was
    /// lost), it doesn't know that ticket: so the second is the spare of an earlier handshake. Where only
    /// one handshake has tickets left, its spare stays for that.
    pub(crate) fn take(&mut self) -> [Option<OwnTicket>; TICKETS] {
        let newest = self.take_from(0);
        let earlier = newest.and_then(|(at, _)| self.take_from(at + 1));
        self.0.retain(|it| it.left.iter().any(Option::is_some));
        [newest, earlier].map(|taken| taken.map(|(_, ticket)| ticket))
    }

    /// About how many bytes they take.
    pub(crate) fn cost(&self) -> usize {
        self.0.len() * size_of::<OfHandshake>()
    }

    /// Takes a ticket of the newest handshake that has one left, not counting the first few.
    fn take_from(&mut self, skipped: usize) -> Option<(usize, OwnTicket)> {
        let mut left = self.0.iter_mut().enumerate().skip(skipped);
        left.find_map(|(at, it)| {
            let ticket = it.left.iter_mut().find_map(Option::take)?;
            Some((at, (ticket, it.chain)))
        })
    }
}
