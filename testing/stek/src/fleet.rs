//! A ring over a store in a file, with the servers of a test as members.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::{ClientConfig, ServerConfig};
use tessera_aws_lc::provider;
use tessera_envoy_tickets::{EnvoyTickets, Pool, PoolMember};
use tessera_ring::{
    FleetRing, Installer, MemberOptions, RingKeys, RingOptions, RingParts, system_clock,
};
use tessera_stek::canary::Canary;
use tessera_stek::keys::{ServerKeys, TicketKeyDomain};
use tessera_store::{FileStore, Store};
use tessera_test_peers::Directory;
use tessera_vault::{
    EpochKey, Rotation, TicketKey, TicketKeyForm, TicketKeyRing, WrappingKeys, WrappingPurpose,
};
use tessera_webpki::WebPkiVerifier;

use crate::own_server::serve;
use crate::servers::{Pki, SERVER_NAME};
use crate::wait::until;

/// A store, its wrapping key, and the certificates of all servers.
pub struct Fleet {
    store: Arc<dyn Store>,
    _directory: Directory,
    /// The authority and the certificate of all servers.
    pub pki: Pki,
}

impl Fleet {
    /// The prefix of the ring in the store.
    pub const PREFIX: &str = "/stek/";

    /// Creates a fleet without members.
    #[must_use]
    pub fn new() -> Self {
        let directory = Directory::new();
        // The store's owner must own its directory: peers own the other one.
        let inner = directory.as_path().join("store");
        std::fs::create_dir(&inner).unwrap();
        let store = FileStore::open(&inner.join("store")).unwrap();
        Self { store: Arc::new(store), _directory: directory, pki: pki() }
    }

    /// Creates a fleet without members over another store.
    #[must_use]
    pub fn over(store: Arc<dyn Store>) -> Self {
        Self { store, _directory: Directory::new(), pki: pki() }
    }

    /// Starts one of Tessera's own servers, as a member.
    #[must_use]
    pub fn tessera_server(&self, name: &str, rotation: Rotation) -> (FleetRing, SocketAddr) {
        let keys = Arc::new(TicketKeyRing::new(&provider()));
        let ring = self.join_with(name, keys.clone(), rotation);
        let mut config = self.config();
        config.tickets = Some(keys);
        (ring, serve(config))
    }

    /// Starts one of Tessera's own servers among the Envoys of a pool, as a member.
    #[must_use]
    pub fn server_among_envoys(&self, name: &str, pool: Pool) -> (FleetRing, SocketAddr) {
        let own = Arc::new(TicketKeyRing::new(&provider()));
        let tickets = Arc::new(EnvoyTickets::new(pool, own.clone()));
        let domain = domain("envoy", "test");
        let member = PoolMember { provider: provider(), own, tickets: tickets.clone(), domain };
        let ring = self.join(name, Arc::new(member));
        let mut config = self.config();
        config.tickets = Some(tickets);
        config.suites_by_the_clients_preference = true;
        (ring, serve(config))
    }

    fn config(&self) -> ServerConfig {
        ServerConfig::new(provider(), vec![self.pki.credential()])
    }

    /// Joins the ring with a server; keys rotate once an hour.
    #[must_use]
    pub fn join(&self, name: &str, installer: Arc<dyn Installer>) -> FleetRing {
        let hour = Duration::from_secs(3600);
        let skew = Duration::from_secs(1);
        self.join_with(name, installer, Rotation { issue_for: hour, open_for: hour, skew })
    }

    /// Joins the ring with a server.
    #[must_use]
    pub fn join_with(
        &self,
        name: &str,
        installer: Arc<dyn Installer>,
        rotation: Rotation,
    ) -> FleetRing {
        let wrapping = WrappingKeys::new(&provider(), WrappingPurpose::TicketKeys);
        let clock = system_clock();
        wrapping.add(EpochKey::forever([1; 16], [7; 32].into()), clock()).unwrap();
        let parts = RingParts {
            store: self.store.clone(),
            provider: provider(),
            wrapping: Arc::new(wrapping),
            installer,
            cache: None,
            clock,
        };
        let options = RingOptions {
            rotation,
            look_every: Duration::from_millis(200),
            member: MemberOptions { name: Some(name.into()), ..MemberOptions::default() },
            ..RingOptions::new(Self::PREFIX)
        };
        FleetRing::open(parts, options).unwrap()
    }

    /// Returns the keys of a domain of servers of this kind.
    #[must_use]
    pub fn keys(&self, kind: &'static str) -> ServerKeys {
        self.keys_of(kind, "test")
    }

    /// Returns the keys of a pool of servers of this kind.
    #[must_use]
    pub fn keys_of(&self, kind: &'static str, pool: &str) -> ServerKeys {
        ServerKeys::new(&provider(), TicketKeyForm::Aes256, &domain(kind, pool))
    }

    /// Returns a canary that trusts the fleet's authority.
    #[must_use]
    pub fn canary(&self) -> Canary {
        let verifier = WebPkiVerifier::new(&[self.pki.authority.der()]).unwrap();
        let config = ClientConfig::new(provider(), Arc::new(verifier));
        Canary::new(config.checked().unwrap(), SERVER_NAME)
    }

    /// Whether a ticket of one server is resumed at another.
    pub async fn crosses(&self, from: SocketAddr, to: SocketAddr) -> bool {
        let canary = self.canary();
        let ticket = canary.ticket(from).await.unwrap();
        canary.resumes(to, ticket).await.unwrap()
    }
}

fn pki() -> Pki {
    Pki::of("Ring test CA")
}

fn domain(kind: &'static str, pool: &str) -> TicketKeyDomain {
    TicketKeyDomain { kind, name: pool.into() }
}

impl Default for Fleet {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns random keys in every role.
#[must_use]
pub fn ring_keys() -> RingKeys {
    let key = || {
        let hour = Duration::from_secs(3600);
        Box::new(TicketKey::generate(&provider(), hour, hour, hour).unwrap())
    };
    RingKeys { now: Duration::ZERO, issuing: Some(key()), next: Some(key()), earlier: vec![key()] }
}

/// Revokes all keys, and checks that a ticket of `a` from before isn't resumed at `b`, and later ones are.
pub async fn revoke(fleet: &Fleet, rings: &[&FleetRing], [a, b]: [SocketAddr; 2]) {
    let canary = fleet.canary();
    let old = canary.ticket(a).await.unwrap();
    rings[rings.len() - 1].revoke().await.unwrap();
    settled(rings).await;
    assert!(!canary.resumes(b, old).await.unwrap());
    assert!(fleet.crosses(a, b).await && fleet.crosses(b, a).await);
}

/// Waits until all members hold the same issuing key and the next one.
pub async fn settled(rings: &[&FleetRing]) {
    until("the ring settles", || {
        let first = rings[0].status();
        let issuing = first.members.first().and_then(|it| it.keys.first().copied());
        issuing.is_some()
            && first.members.len() == rings.len()
            && first.active.first().map(|key| key.id) == issuing
            && first.members.iter().all(|it| it.holds_next && it.keys.first() == issuing.as_ref())
            && rings.iter().map(|ring| ring.status()).all(|status| {
                status.problem.is_none()
                    && status.active == first.active
                    && status.distributing == first.distributing
                    && status.waiting_for.is_empty()
            })
    })
    .await;
}
