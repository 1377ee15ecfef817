//! Export and import of a client's cache.

use alloc::vec::Vec;

use tessera::auth::VerifierDigest;
use tessera::crypto::Hash;
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

use super::destination::{Destination, Key, ServerChain};
use super::tickets::{OwnTickets, RemainingTickets};
use super::{ClientCache, State};
use crate::bytes::{Bytes, put16, put24};
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::error::ImportError;
use crate::form::Form;
use crate::ids::Ticket;
use crate::metrics::Metrics;
use crate::wire::FleetTicket;
use crate::written::{CacheKind, flag, frame, option, put_option, unframed};

impl ClientCache {
    /// Exports everything that survives the process, for [`import`](Self::import). A chain kept only as a
    /// hash is left out, because the verifier that knows it ends with the process.
    ///
    /// **A ticket is sent only once, ever**, so that an observer can't see that a client returns. The export
    /// contains the unused ones: don't use this cache any more, or they are in two places. Before using an
    /// import, remove its tickets durably from the source
    /// ([`export_without_tickets`](Self::export_without_tickets)).
    pub fn export(&self) -> Vec<u8> {
        self.write(true)
    }

    /// Exports the same without tickets, which may be stored in many places.
    pub fn export_without_tickets(&self) -> Vec<u8> {
        self.write(false)
    }

    /// Replaces everything with an export.
    ///
    /// # Errors
    /// Returns an error if it can't be read as a whole. Nothing has changed then.
    pub fn import(&self, exported: &[u8]) -> Result<(), ImportError> {
        let (version, mut reader) = unframed(self.sha256, CacheKind::Servers, exported)?;
        // Respect the limits from the first entry on, whatever the length.
        let mut read = State::default();
        while !reader.is_empty() {
            let (key, destination) =
                server(self.sha256, &mut reader, version).ok_or(ImportError::Damaged)?;
            read.put(key, destination, self.peers.limits);
        }
        let mut state = self.peers.state.lock();
        read.metrics =
            Metrics { evicted: state.metrics.evicted + read.metrics.evicted, ..state.metrics };
        *state = read;
        Ok(())
    }

    fn write(&self, tickets: bool) -> Vec<u8> {
        let state = self.peers.state.lock();
        // The least recently used first, so that they are evicted first after an import too.
        let known = state.by_use.values();
        let known = known.filter_map(|key| Some((key, state.destinations.get(key)?)));
        frame(self.sha256, CacheKind::Servers, |out| {
            known.for_each(|(key, destination)| put_server(out, key, destination, tickets));
        })
    }
}

fn put_server(out: &mut Vec<u8>, key: &Key, destination: &Destination, with_tickets: bool) {
    put16(out, key.server_name.as_bytes());
    put_option(out, key.port, |out, port| out.extend(port.to_be_bytes()));
    put24(out, &key.protocols);
    put_option(out, key.policy, |out, policy| out.extend(policy));
    out.extend([destination.answers, destination.failed].map(u8::from));
    let whole = destination.chains.iter().filter_map(|it| match &it.form {
        Form::Whole(chain) => Some((chain, it.expires_at)),
        Form::Known(_) => None,
    });
    let whole: Vec<_> = whole.collect();
    // At most four.
    out.push(whole.len() as u8);
    for (chain, expires_at) in whole {
        put_option(out, expires_at, |out, at| out.extend(at.to_be_bytes()));
        out.push(chain.certificate_type.0);
        put24(out, &chain.leaf);
        put24(out, &chain.issuers);
    }
    let tickets = destination.tickets.all().filter(|_| with_tickets);
    let tickets: Vec<_> = tickets.collect();
    out.push(tickets.len() as u8);
    for (chain, left) in tickets {
        out.extend(chain.0);
        for ticket in left {
            put_option(out, *ticket, |out, ticket| {
                out.extend(ticket.bytes);
                out.extend(ticket.id.0.to_be_bytes());
            });
        }
    }
    // At most 4 KiB.
    put_option(out, destination.request.as_deref(), put16);
    let fleet = destination.tickets.fleet().filter(|_| with_tickets);
    let fleet: Vec<_> = fleet.collect();
    // At most four.
    out.push(fleet.len() as u8);
    for (ticket, chain) in fleet {
        out.extend(chain.0);
        put16(out, &ticket.write());
    }
}

/// The first version with fleet tickets.
const WITH_FLEET_TICKETS: u8 = 2;

fn server(sha256: &dyn Hash, from: &mut Bytes<'_>, version: u8) -> Option<(Key, Destination)> {
    let server_name = core::str::from_utf8(from.vec16()?).ok()?.into();
    let port = option(from, Bytes::u16)?;
    let protocols = from.vec24()?.into();
    let policy = option(from, |from| from.array::<{ VerifierDigest::LEN }>())?;
    let (answers, failed) = (flag(from)?, flag(from)?);
    let mut destination = Destination { answers, failed, ..Destination::default() };
    for _ in 0..from.u8()? {
        let expires_at = option(from, |from| from.array().map(u64::from_be_bytes))?;
        let certificate_type = CertificateType(from.u8()?);
        let (leaf, issuers) = (from.vec24()?.into(), from.vec24()?);
        let chain = Chain::new(certificate_type, leaf, issuers.into())?;
        let (hash, form) = (chain.hash(sha256), Form::Whole(chain));
        destination.put_before(ServerChain { hash, form, expires_at });
    }
    for _ in 0..from.u8()? {
        of_handshake(from, &mut destination.tickets)?;
    }
    destination.request = option(from, |from| Some(from.vec16()?.into()))?;
    if version >= WITH_FLEET_TICKETS {
        for _ in 0..from.u8()? {
            let chain = ChainHash(from.array()?);
            let ticket = FleetTicket::read(from.vec16()?)?;
            destination.tickets.put_fleet_before(chain, ticket);
        }
    }
    Some((Key { server_name, port, protocols, policy }, destination))
}

fn of_handshake(from: &mut Bytes<'_>, tickets: &mut OwnTickets) -> Option<()> {
    let chain = ChainHash(from.array()?);
    let mut left = RemainingTickets::default();
    for ticket in &mut left {
        *ticket = option(from, |from| {
            let bytes = from.array()?;
            Some(Ticket { bytes, id: Id(from.u16()?) })
        })?;
    }
    tickets.put_before(chain, left);
    Some(())
}

#[cfg(test)]
mod tests {
    use tessera::wire::CertificateType;

    use super::{CacheKind, frame, put_server};
    use crate::chain::Chain;
    use crate::client::{ClientCache, ClientLimits, Destination, Key, ServerChain};
    use crate::form::Form;

    /// Makes a server with this many chains.
    fn destination(cache: &ClientCache, chains: u8) -> Destination {
        let chain = |byte| {
            let chain = Chain::new(CertificateType::X509, [byte; 9].into(), [].into());
            let chain = chain.expect("a chain");
            let (hash, form) = (chain.hash(cache.sha256), Form::Whole(chain));
            ServerChain { hash, form, expires_at: None }
        };
        Destination { chains: (0..chains).map(chain).collect(), ..Destination::default() }
    }

    fn key(name: &str) -> Key {
        Key { server_name: name.into(), port: None, protocols: [].into(), policy: None }
    }

    /// More would not fit into a ClientHello: no connection would start.
    #[test]
    fn a_server_that_is_imported_has_no_more_chains_than_one_that_is_learned() {
        let cache = ClientCache::new(&tessera_aws_lc::provider()).expect("a cache");
        let exported = frame(cache.sha256, CacheKind::Servers, |out| {
            put_server(out, &key("one"), &destination(&cache, 200), true);
        });
        cache.import(&exported).expect("a cache");
        let known = cache.visit(&key("one")).0.chains;
        let first = &destination(&cache, 1).chains[0];
        assert_eq!((known.len(), known[0].hash), (4, first.hash));
    }

    #[test]
    fn a_chain_that_no_message_has_room_for_is_not_imported() {
        for (len, fits) in [((1 << 24) - 7, true), ((1 << 24) - 6, false)] {
            let chain = Chain::new(CertificateType::X509, std::vec![7; len].into(), [].into());
            assert_eq!(chain.is_some(), fits, "{len}");
            let hash =
                chain.map(|it| it.hash(tessera_aws_lc::provider().sha256().expect("SHA-256")));
            assert!(hash.is_none_or(|hash| hash.0 != [0; 32]));
        }
    }

    /// A duplicate would have two places in the order of use, one of them permanently.
    #[test]
    fn a_server_that_is_imported_twice_is_stored_once() {
        let limits = ClientLimits { servers: 2, ..ClientLimits::default() };
        let cache = ClientCache::new(&tessera_aws_lc::provider()).expect("a cache");
        let cache = cache.with_limits(limits);
        let exported = frame(cache.sha256, CacheKind::Servers, |out| {
            for name in ["one", "one", "two", "three", "four"] {
                put_server(out, &key(name), &destination(&cache, 1), true);
            }
        });
        cache.import(&exported).expect("a cache");
        assert_eq!(cache.metrics().entries, 2);
    }
}
