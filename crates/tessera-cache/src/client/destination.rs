//! A client's entry for one server.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tessera::auth::{ServerInfo, VerifierDigest};

use super::tickets::OwnTickets;
use crate::bytes::Shared;
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::ids::public_id;

/// Where a client connects to, and what it accepts there. Chains accepted under another policy count as
/// another server's, and so do those of the same name at another port or with other protocols: no connection
/// reveals where else this client has been. Clones share its names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) server_name: Arc<str>,
    pub(crate) port: Option<u16>,
    /// The offered application protocols, each with its length.
    pub(crate) protocols: Shared,
    pub(crate) policy: Option<[u8; VerifierDigest::LEN]>,
}

impl Key {
    pub(crate) fn of(to: &ServerInfo<'_>) -> Self {
        let mut protocols = Vec::new();
        for protocol in to.protocols {
            // At most 255 bytes (RFC 7301 §3.1).
            protocols.push(protocol.len() as u8);
            protocols.extend_from_slice(protocol);
        }
        let policy = to.policy.map(|digest| digest.0);
        let protocols = protocols.into();
        Self { server_name: to.server_name.into(), port: to.port, protocols, policy }
    }
}

/// A server's chain.
#[derive(Clone)]
pub(crate) struct ServerChain {
    pub(crate) hash: ChainHash,
    pub(crate) form: Form,
    /// Seconds since the Unix epoch.
    pub(crate) expires_at: Option<u64>,
}

/// A server.
#[derive(Clone, Default)]
pub(crate) struct Destination {
    /// Its chains, the last seen first.
    pub(crate) chains: Vec<ServerChain>,
    /// Whether it takes part.
    pub(crate) answers: bool,
    pub(crate) tickets: OwnTickets,
    /// The body of its CertificateRequest, if that may be cached.
    pub(crate) request: Option<Shared>,
    /// The last connection failed after the server's chain was sent as a hash: the next one offers nothing.
    pub(super) failed: bool,
    /// This cache has connected to it since it came from another cache.
    pub(super) changed: bool,
    /// When it was last used: a growing number.
    pub(super) used: u64,
}

/// How many chains of one server are kept: one name may have several servers, or an old and a new certificate
/// during a change.
pub(crate) const CHAINS: usize = 4;

impl Destination {
    /// Adds a chain that the server has presented, if there is memory for it.
    pub(super) fn learn(&mut self, shown: ServerChain) {
        // Two chains with one public id would never be offered again.
        self.chains.retain(|it| public_id(&it.hash) != public_id(&shown.hash));
        self.chains.truncate(CHAINS - 1);
        if self.chains.try_reserve(1).is_ok() {
            self.chains.insert(0, shown);
        }
    }

    /// Puts back a chain seen before all present ones; drops the oldest if there are too many.
    pub(super) fn put_before(&mut self, chain: ServerChain) {
        if self.chains.len() < CHAINS {
            self.chains.push(chain);
        }
    }

    /// Returns roughly how many bytes it takes.
    pub(super) fn cost(&self, key: &Key) -> usize {
        let chains = self.chains.iter().map(|it| size_of::<ServerChain>() + it.form.bytes());
        let request = self.request.as_ref().map_or(0, |body| body.len());
        let names = key.server_name.len() + key.protocols.len();
        OVERHEAD + names + self.tickets.cost() + request + chains.sum::<usize>()
    }
}

/// The cost of a destination besides its chains and names: itself, and its key in two trees.
const OVERHEAD: usize = size_of::<Destination>() + 2 * size_of::<Key>() + 64;

#[cfg(test)]
mod tests {

    use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

    use super::{Destination, Form, Key, ServerChain};
    use crate::chain::Chain;
    use crate::chain_hash::ChainHash;
    use crate::ids::Ticket;

    #[test]
    fn a_destination_costs_what_all_of_its_parts_take() {
        let key = Key {
            server_name: "n".repeat(100).into(),
            port: None,
            protocols: [0; 50].into(),
            policy: None,
        };
        let mut destination = Destination::default();
        let bare = destination.cost(&key);
        assert!(bare >= 150 + size_of::<Destination>() + size_of::<Key>());
        let longer = Key { server_name: "n".repeat(101).into(), ..key.clone() };
        assert_eq!(destination.cost(&longer), bare + 1);
        destination.request = Some([0; 300].into());
        assert_eq!(destination.cost(&key), bare + 300);
        destination
            .tickets
            .add(ChainHash([1; 32]), [Some(Ticket { bytes: [1; 8], id: Id(0xc000) }); 2]);
        let with_tickets = destination.cost(&key);
        assert_eq!(with_tickets, bare + 300 + destination.tickets.cost());
        assert!(destination.tickets.cost() > 0);
        let chain = Chain::new(CertificateType::X509, [2; 900].into(), [3; 700].into());
        let form = Form::Whole(chain.expect("a chain"));
        let chain = size_of::<ServerChain>() + form.bytes();
        destination.learn(ServerChain { hash: ChainHash([1; 32]), form, expires_at: None });
        assert_eq!(destination.cost(&key), with_tickets + chain);
        assert!(chain >= 1600);
    }
}
