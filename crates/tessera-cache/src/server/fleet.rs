//! Tickets that every server of a fleet can open: which chain to look for, sealed under the keys of session
//! tickets.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use tessera::crypto::Random;
use tessera::resume::TicketKeys;
use tessera::wire::CertificateCompressionAlgorithm as Id;

use super::groups::ServerName;
use crate::bytes::Bytes;
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::ids::random_id;
use crate::wire::FleetTicket;

/// Seals and opens fleet tickets.
pub(super) struct Sealer {
    ring: Arc<dyn TicketKeys>,
    random: &'static dyn Random,
    /// Maximum age of a ticket.
    longest_age: Duration,
}

/// The content of a fleet ticket. All have the same length, so that the length reveals nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contents {
    /// The chain.
    pub(crate) chain: ChainHash,
    /// The last bytes of what a cache keeps of it, by which it is found there.
    pub(crate) tail: Tail,
    /// The server that it is for.
    pub(crate) server: ServerName,
    /// The id under which the client will send it.
    pub(crate) id: Id,
    /// When it was issued, in seconds since the Unix epoch.
    pub(crate) issued_at: u64,
}

/// The end of an end entity's certificate: part of its signature, which its owner can't choose. Zeros if only
/// the hash of the chain is kept.
pub(crate) type Tail = [u8; 16];

const VERSION: u8 = 1;

/// Separates fleet tickets from session tickets under the same ring: neither opens as the other.
const PURPOSE: &[u8] = b"tessera cached certificates";

impl Sealer {
    pub(super) fn new(
        ring: Arc<dyn TicketKeys>,
        random: &'static dyn Random,
        longest_age: Duration,
    ) -> Self {
        Self { ring, random, longest_age }
    }

    /// Seals a new ticket for this chain. `None` without a key, or without randomness.
    pub(super) fn seal(
        &self,
        (chain, tail): (ChainHash, Tail),
        server: ServerName,
        unix: Duration,
    ) -> Option<FleetTicket> {
        let mut random = [0; 2];
        self.random.fill(&mut random).ok()?;
        let id = random_id(random);
        let contents = Contents { chain, tail, server, id, issued_at: unix.as_secs() };
        let sealed: Box<[u8]> = self.ring.seal_for(PURPOSE, &contents.write(), unix)?.into();
        // Longer ones don't fit into a ClientHello.
        (1..=255).contains(&sealed.len()).then_some(FleetTicket { id, sealed })
    }

    /// Opens a client's ticket; `None` if it was sealed elsewhere, for another server, or too long ago.
    pub(super) fn open(
        &self,
        sealed: &[u8],
        server: ServerName,
        unix: Duration,
    ) -> Option<Contents> {
        let contents = Contents::read(&self.ring.open_for(PURPOSE, sealed, unix)?)?;
        // By a clock that is a little slow, it is from the future.
        let age = unix.as_secs().saturating_sub(contents.issued_at);
        let is_young = age <= self.longest_age.as_secs();
        (contents.server == server && is_young).then_some(contents)
    }
}

impl Contents {
    pub(crate) fn write(&self) -> Vec<u8> {
        let Self { chain, tail, server, id, issued_at } = self;
        let mut out = [&[VERSION][..], &chain.0, tail, server].concat();
        out.extend(id.0.to_be_bytes());
        out.extend(issued_at.to_be_bytes());
        out
    }

    pub(crate) fn read(contents: &[u8]) -> Option<Self> {
        let mut reader = Bytes(contents);
        reader.u8().filter(|version| *version == VERSION)?;
        let (chain, tail, server) = (ChainHash(reader.array()?), reader.array()?, reader.array()?);
        let (id, issued_at) = (Id(reader.u16()?), u64::from_be_bytes(reader.array()?));
        reader.is_empty().then_some(Self { chain, tail, server, id, issued_at })
    }
}

/// Returns the last bytes of what a cache keeps of a chain in this form.
pub(crate) fn tail_of(form: &Form) -> Tail {
    match form {
        Form::Whole(chain) => tail(&chain.leaf),
        Form::Known(_) => Tail::default(),
    }
}

/// Returns the last bytes, preceded by zeros if there are fewer.
pub(super) fn tail(own: &[u8]) -> Tail {
    let mut tail = Tail::default();
    let taken = own.len().min(tail.len());
    tail[..taken].copy_from_slice(&own[own.len() - taken..]);
    tail
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::vec::Vec;

    use tessera::handshake::Reply;
    use tessera::resume::{OpenTicket, TicketKeys};
    use tessera::wire::CertificateType;
    use tessera_vault::{RotatingRing, TicketKey, TicketKeyRing};

    use super::{ChainHash, Contents, Duration, Form, Id, PURPOSE, Sealer, tail_of};
    use crate::chain::Chain;
    use crate::chain_hash::first;
    use crate::vectors::{array, sha256, vectors};

    const NOW: Duration = Duration::from_secs(1_800_000_000);
    const SERVER: [u8; 16] = [3; 16];

    fn sealers() -> (Arc<RotatingRing>, Sealer) {
        let provider = tessera_aws_lc::provider();
        let ring = Arc::new(RotatingRing::new(&provider));
        (ring.clone(), Sealer::new(ring, provider.random, Duration::from_secs(60)))
    }

    #[test]
    fn a_fleet_ticket_opens_only_for_its_server_and_while_it_is_young() {
        let (_, sealer) = sealers();
        let chain = (ChainHash([1; 32]), [2; 16]);
        let ticket = sealer.seal(chain, SERVER, NOW).expect("a ticket");
        let opened = sealer.open(&ticket.sealed, SERVER, NOW).expect("its own");
        assert_eq!((opened.chain, opened.tail), chain);
        assert_eq!((opened.id, opened.server), (ticket.id, SERVER));
        assert_eq!(opened.issued_at, NOW.as_secs());
        let opens = |sealed: &[u8], server, unix| sealer.open(sealed, server, unix).is_some();
        assert!(!opens(&ticket.sealed, [4; 16], NOW));
        let second = Duration::from_secs(1);
        assert!(opens(&ticket.sealed, SERVER, NOW + 60 * second));
        assert!(!opens(&ticket.sealed, SERVER, NOW + 61 * second));
        assert!(opens(&ticket.sealed, SERVER, NOW - second), "a clock behind");
        for len in 0..=255 {
            let garbage: Vec<u8> = ticket.sealed.iter().cycle().take(len).copied().collect();
            assert_eq!(opens(&garbage, SERVER, NOW), garbage == *ticket.sealed, "{len}");
        }
    }

    #[test]
    fn the_contents_of_a_fleet_ticket_match_the_vectors() {
        let vectors = vectors();
        let get = |name| vectors.get("fleet ticket", name);
        let provider = tessera_aws_lc::provider();
        let chain = Chain::of_body(CertificateType::X509, &get("Certificate")[4..]).expect("one");
        let name = get("server name").to_ascii_lowercase();
        let contents = Contents {
            chain: chain.hash(sha256()),
            tail: tail_of(&Form::Whole(chain)),
            server: first(sha256().hash(&name).as_ref()),
            id: Id(u16::from_be_bytes(array(get("id")))),
            issued_at: u64::from_be_bytes(array(get("time of issue"))),
        };
        assert_eq!(contents.chain.0, get("H"));
        assert_eq!(contents.write(), get("contents"));
        let (id, secret) = ("id of the ring's key", "secret of the ring's key");
        let key = TicketKey::forever(array(get(id)), array::<32>(get(secret)).into());
        let ring = TicketKeyRing::new(&provider);
        ring.add(key, NOW).expect("a key");
        let sealer = Sealer::new(Arc::new(ring), provider.random, Duration::from_secs(60));
        let opened = sealer.open(get("sealed"), contents.server, NOW);
        assert_eq!(opened, Some(contents));
    }

    #[test]
    fn each_fleet_ticket_has_an_id_of_its_own() {
        let (_, sealer) = sealers();
        let chain = (ChainHash([1; 32]), [2; 16]);
        let ids = (0..64).map(|_| sealer.seal(chain, SERVER, NOW).expect("a ticket").id);
        let ids: BTreeSet<Id> = ids.collect();
        assert!(ids.len() > 32 && ids.iter().all(|id| id.0 >= 0xc000), "{}", ids.len());
    }

    /// Both are of one ring.
    #[test]
    fn a_fleet_ticket_is_no_session_ticket() {
        let (ring, sealer) = sealers();
        let ticket = sealer.seal((ChainHash([1; 32]), [2; 16]), SERVER, NOW).expect("a ticket");
        let question = OpenTicket::new(ticket.sealed.to_vec(), Some(NOW));
        assert!(matches!(ring.open(&question), Reply::Now(None)));
        // Nor is anything else that the ring opens for this purpose accepted.
        for contents in [&[1; 74][..], &[1; 76], &[2; 75], &[]] {
            let sealed = ring.seal_for(PURPOSE, contents, NOW).expect("a key");
            assert_eq!(sealer.open(&sealed, [1; 16], NOW), None);
            assert_eq!(Contents::read(contents), None);
        }
    }
}
