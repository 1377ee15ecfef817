//! Configurations of a client and of two proxies with the same ticket keys. Clients have no certificates, unless their
//! one-time keys are to move.

use std::collections::VecDeque;
use std::sync::Arc;

use tessera::auth::Credential;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::ClientSession;
use tessera::{ClientConfig, Facts, ServerConfig};
use tessera_link::LinkKind;
use tessera_observed::TimedEnd;
use tessera_reports::{KeyExchange, Suite};
use tessera_vault::MemoryVault;
use tessera_webpki::{Algorithms, WebPkiVerifier};

use super::joined::Joined;
use super::neighbours::{CAPACITY, Neighbours};
use super::signer::ProxySigner;
use super::way::EdgeWay;
use crate::certificates::Parties;
use crate::control::Preparation;
use crate::endpoint::{Result, Stores, client_config, server_config};

/// The suite of both ends: BoringSSL's choice, and so the paper's platform's.
const SUITE: Suite = Suite::Aes128GcmSha256;

/// How many sessions one connection brings. The engine refuses more than 32 tickets in a row.
pub(super) const SESSIONS_AT_ONCE: u8 = 30;

/// A client and two proxies, ready to connect.
pub(super) struct Ends {
    pub(super) way: EdgeWay,
    pub(super) kx: KeyExchange,
    pub(super) client: Checked<ClientConfig>,
    /// Gets the sessions, many at once, from the first proxy.
    pub(super) collector: Checked<ClientConfig>,
    /// The proxy that issues the tickets.
    pub(super) first: Checked<ServerConfig>,
    /// The one that the client connects to.
    pub(super) server: Checked<ServerConfig>,
    /// Tickets that wait for their connections.
    pub(super) sessions: VecDeque<ClientSession>,
    /// The proxies' vaults, if the second deals with keys of the first.
    neighbours: Option<Neighbours>,
    /// The signer, if it has the second proxy's key.
    signer: Option<ProxySigner>,
}

/// Both ends, whose operations are timed.
pub(super) struct TimedEnds {
    pub(super) client: TimedEnd,
    pub(super) server: TimedEnd,
}

impl Ends {
    /// Creates them, timed if so; a link of this kind joins the proxies, if they need one.
    pub(super) fn new(
        way: EdgeWay,
        kx: KeyExchange,
        parties: &Parties,
        kind: LinkKind,
        timed: Option<&TimedEnds>,
    ) -> Result<Self> {
        let algorithms =
            timed.map_or(Algorithms::AWS_LC, |timed| timed.client.algorithms(Algorithms::AWS_LC));
        let root = &parties.client.identity.root;
        let verifier = Arc::new(WebPkiVerifier::with_algorithms(&[root], algorithms)?);
        let client = |kx, groups, sessions| -> Result<Checked<ClientConfig>> {
            let mut config = client_config(&preparation(way, kx, parties), sessions)?;
            config.verifier = verifier.clone();
            config.credentials = Vec::new();
            if way.has_foreign_key() {
                let key = parties.client.key.clone();
                config.credentials = vec![Credential::new(parties.client.chain.clone(), key)];
            }
            config.groups = groups;
            let observed = match timed {
                Some(timed) => timed.client.client(config),
                None => config,
            };
            Ok(observed.checked()?)
        };
        let stores = Stores::new(false)?;
        let signer = if way == EdgeWay::FullSigner {
            Some(ProxySigner::open(kind, &parties.server)?)
        } else {
            None
        };
        let server = |kx, stores: &Stores| -> Result<Checked<ServerConfig>> {
            let mut config = server_config(&preparation(way, kx, parties), stores)?;
            if !way.has_foreign_key() {
                config.client_authentication = ClientAuthentication::None;
            }
            let key = match &signer {
                Some(signer) => signer.key(),
                None => parties.server.key.clone(),
            };
            config.credentials = vec![Credential::new(parties.server.chain.clone(), key)];
            config.groups = EdgeWay::Full.groups_of_client(KeyExchange::X25519MlKem768);
            let observed = match timed {
                Some(timed) => timed.server.server(config),
                None => config,
            };
            Ok(observed.checked()?)
        };
        let first_kx = way.first_exchange(kx);
        let first_groups = EdgeWay::Full.groups_of_client(first_kx);
        let neighbours = if way.has_foreign_key() {
            Some(Neighbours::open(kind, way == EdgeWay::ZeroRttFsMoved)?)
        } else {
            None
        };
        let elsewhere = stores.with_vault(match &neighbours {
            Some(neighbours) => neighbours.second(),
            None => Arc::new(MemoryVault::new(CAPACITY)),
        });
        let stores = match &neighbours {
            Some(neighbours) => stores.with_vault(neighbours.first()),
            None => stores,
        };
        let first = server(first_kx, &stores)?;
        Ok(Self {
            way,
            kx,
            client: client(kx, way.groups_of_client(kx), 1)?,
            collector: client(first_kx, first_groups, SESSIONS_AT_ONCE)?,
            server: if way.moves() { server(kx, &elsewhere)? } else { first.clone() },
            first,
            sessions: VecDeque::new(),
            neighbours,
            signer,
        })
    }

    /// Returns the link between the second proxy and what it asks.
    pub(super) fn joined(&self) -> Option<&Joined> {
        let neighbours = self.neighbours.as_ref().map(|it| &it.joined);
        neighbours.or(self.signer.as_ref().map(|it| &it.joined))
    }

    /// Keeps the tickets of a connection to the first proxy, whose facts of it are these; their one-time keys move.
    pub(super) fn keep(
        &mut self,
        sessions: impl IntoIterator<Item = ClientSession>,
        at_first: &Facts,
    ) -> Result<()> {
        if let Some(neighbours) = &self.neighbours {
            let client = at_first.peer.as_ref().ok_or("the client has no name")?;
            neighbours.moved(&client.blob)?;
        }
        self.sessions.extend(sessions);
        Ok(())
    }

    /// Returns the session of the next connection, if it begins with one.
    pub(super) fn next_session(&mut self) -> Result<Option<ClientSession>> {
        if !self.way.resumes() {
            return Ok(None);
        }
        Ok(Some(self.sessions.pop_front().ok_or("no session is left")?))
    }
}

fn preparation(way: EdgeWay, kx: KeyExchange, parties: &Parties) -> Preparation {
    let identity = parties.server.identity.clone();
    Preparation { suite: Some(SUITE), ..Preparation::new(way.way(kx), identity) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::Certificates;
    use crate::in_memory::connect;

    #[test]
    fn one_time_keys_that_stay_behind_are_reported() {
        let parties = Parties::new(Certificates::P256, 2).unwrap();
        let (way, kx) = (EdgeWay::ZeroRttFsMoved, KeyExchange::X25519);
        let mut ends = Ends::new(way, kx, &parties, LinkKind::Loopback, None).unwrap();
        let made = connect(ends.collector.clone(), ends.first.clone(), None, 1).unwrap();
        let mut facts = made.server.facts.clone();
        facts.peer.as_mut().unwrap().blob = b"another client".to_vec();
        let error = ends.keep([], &facts).unwrap_err();
        assert!(error.to_string().starts_with("0 of "), "{error}");
        facts.peer = None;
        assert!(ends.keep([], &facts).unwrap_err().to_string().contains("no name"));
        ends.keep(made.sessions, &made.server.facts).unwrap();
        assert!(!ends.sessions.is_empty());
    }
}
