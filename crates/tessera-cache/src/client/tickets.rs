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
    /// Some of them were sent: what is left is a spare.
    begun: bool,
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
        self.0.push_front(OfHandshake::new(chain, tickets));
    }

    /// The tickets for the next ClientHello; they are never given again.
    ///
    /// The first is the newest. If the server didn't see the end of that handshake (its last flight was
    /// lost), it knows neither of its tickets: so the second is the spare of an earlier handshake. Where only one
    /// handshake has tickets left, its spare stays for that. Both are for the chain that was sent last: after a
    /// resumption the client can't tell which of the two was found.
    pub(crate) fn take(&mut self) -> [Option<OwnTicket>; TICKETS] {
        let taken = self.take_next();
        self.drop_empty();
        taken
    }

    /// Takes out what this many connections send, each beside the others.
    pub(super) fn take_for(&mut self, connections: usize) -> Self {
        let mut taken = self.clone();
        for _ in 0..connections {
            if self.take_next().iter().all(Option::is_none) {
                break;
            }
        }
        for (it, left) in taken.0.iter_mut().zip(&self.0) {
            let pairs = it.left.iter_mut().zip(&left.left);
            pairs.for_each(|(ticket, left)| *ticket = ticket.filter(|_| left.is_none()));
        }
        self.drop_empty();
        taken.drop_empty();
        taken
    }

    /// Adds what is newer than what is here. Two tickets of one handshake that were apart are together again, as
    /// far as one can tell: they shall not go into one ClientHello.
    pub(super) fn put_all(&mut self, newer: Self) {
        let mut at = 0;
        for handshake in newer.0 {
            let other = self.0.iter().skip(at).position(|it| it.lacks(&handshake));
            if let Some(it) = other.and_then(|ahead| self.0.get_mut(at + ahead)) {
                let pairs = it.left.iter_mut().zip(handshake.left);
                pairs.for_each(|(left, ticket)| *left = left.or(ticket));
                it.begun = false;
            } else {
                self.0.insert(at.min(self.0.len()), handshake);
            }
            at += other.unwrap_or_default() + 1;
        }
        self.0.truncate(HANDSHAKES);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is left of each handshake, and the chain that it stands for, the newest first.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = (&ChainHash, &Left)> {
        self.0.iter().map(|it| (&it.chain, &it.left))
    }

    /// Puts back what was left of a handshake before all that are there.
    pub(super) fn put_before(&mut self, chain: ChainHash, left: Left) {
        if self.0.len() < HANDSHAKES {
            self.0.push_back(OfHandshake::new(chain, left));
        }
    }

    /// About how many bytes they take.
    pub(crate) fn cost(&self) -> usize {
        self.0.len() * size_of::<OfHandshake>()
    }

    fn take_next(&mut self) -> [Option<OwnTicket>; TICKETS] {
        self.next().map(|place| {
            let place = place?;
            let it = self.0.get_mut(place.handshake)?;
            it.begun = true;
            Some((it.left.get_mut(place.ticket)?.take()?, it.chain))
        })
    }

    /// Where the tickets of the next ClientHello are. Of an earlier handshake whose tickets are both there none is
    /// the spare: they are for connections beside this one.
    fn next(&self) -> [Option<Place>; TICKETS] {
        let mut with_tickets = self.0.iter().enumerate().filter(|(_, it)| it.count() > 0);
        let Some((handshake, newest)) = with_tickets.next() else { return [None; TICKETS] };
        let spare = with_tickets.find(|(_, it)| it.chain == newest.chain && it.begun);
        let place = |handshake: usize, it: &OfHandshake| {
            let ticket = it.left.iter().position(Option::is_some)?;
            Some(Place { handshake, ticket })
        };
        [place(handshake, newest), spare.and_then(|(handshake, it)| place(handshake, it))]
    }

    fn drop_empty(&mut self) {
        self.0.retain(|it| it.count() > 0);
    }
}

/// Of which handshake, and which of its tickets.
#[derive(Clone, Copy)]
struct Place {
    handshake: usize,
    ticket: usize,
}

impl OfHandshake {
    fn new(chain: ChainHash, left: Left) -> Self {
        let mut it = Self { chain, left, begun: false };
        it.begun = it.count() < TICKETS;
        it
    }

    /// How many tickets are left.
    fn count(&self) -> usize {
        self.left.iter().flatten().count()
    }

    /// Whether these may be the tickets of the same handshake that are not here.
    fn lacks(&self, other: &Self) -> bool {
        let mut pairs = self.left.iter().zip(&other.left);
        self.chain == other.chain && pairs.all(|(one, other)| one.is_none() || other.is_none())
    }
}
