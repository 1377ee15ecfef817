//! Servers that share a ring in etcd, with clocks that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tessera::crypto::Secret;
use tessera::handshake::Reply;
use tessera::resume::{Ancestry, Carrier, OpenTicket, SessionState, TicketKeys};
use tessera::wire::CipherSuite;
use tessera_aws_lc::provider;
use tessera_ring::{FleetRing, RingOptions, RingParts, RingStatus};
use tessera_test_peers::etcd::Cluster;
use tessera_vault::contract::NOW;
use tessera_vault::{EpochKey, TicketKeyRing, WrappingKeys, WrappingPurpose};
use tokio::runtime::Runtime;

use super::{DEADLINE, client, runtime};

pub const HOUR: Duration = Duration::from_secs(3600);

/// Servers that share a ring, in one process, with a true time that the test moves.
pub struct Fleet {
    pub cluster: Cluster,
    pub runtime: Arc<Runtime>,
    /// In milliseconds since the Unix epoch.
    time: Arc<AtomicU64>,
    pub options: RingOptions,
}

/// A server, and how many minutes its clock is ahead.
pub struct Server {
    pub ring: FleetRing,
    pub keys: Arc<TicketKeyRing>,
    time: Arc<AtomicU64>,
    pub ahead: i64,
}

fn wrong(time: &AtomicU64, ahead: i64) -> Duration {
    let true_time = time.load(Ordering::Relaxed);
    Duration::from_millis(true_time.saturating_add_signed(ahead * 60_000))
}

impl Fleet {
    pub fn start(members: usize) -> Self {
        let options = RingOptions {
            counts_as_live_for: Duration::from_secs(2),
            look_every: Duration::from_millis(100),
            ..RingOptions::new("/ring/")
        };
        let cluster = Cluster::start(members).unwrap();
        let time = Arc::new(AtomicU64::new(NOW.as_millis() as u64));
        Self { cluster, runtime: runtime(), time, options }
    }

    pub fn server(&self, ahead: i64) -> Server {
        self.server_at(self.cluster.endpoints(), ahead, 7)
    }

    pub fn server_at(&self, endpoints: Vec<String>, ahead: i64, wrapping: u8) -> Server {
        let _inside = self.runtime.enter();
        let keys = WrappingKeys::new(&provider(), WrappingPurpose::TicketKeys);
        keys.add(EpochKey::forever([1; 16], [wrapping; 32].into()), NOW).unwrap();
        let time = self.time.clone();
        let clock = Box::new(move || wrong(&time, ahead));
        let client = client(endpoints, Duration::from_secs(1));
        let (keys, options) = (Arc::new(keys), self.options.clone());
        let tickets = Arc::new(TicketKeyRing::new(&provider()));
        let parts = RingParts {
            store: Arc::new(client),
            provider: provider(),
            wrapping: keys,
            installer: tickets.clone(),
            cache: None,
            clock,
        };
        let ring = FleetRing::open(parts, options).unwrap();
        Server { keys: tickets, ring, time: self.time.clone(), ahead }
    }

    pub fn pass(&self, time: Duration) {
        self.time.fetch_add(time.as_millis() as u64, Ordering::Relaxed);
    }

    pub fn write(&self, key: &[u8], value: &[u8]) {
        let body = json!({ "key": base64(key), "value": base64(value) });
        self.cluster.ask(0, "/v3/kv/put", &body).unwrap();
    }

    /// Returns the value of a key in the gateway's encoding, and its lease.
    pub fn read(&self, key: &[u8]) -> Option<(String, String)> {
        let answer = self.cluster.ask(0, "/v3/kv/range", &json!({ "key": base64(key) })).unwrap();
        let kv = &answer["kvs"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        kv.is_object().then(|| (text(&kv["value"]), text(&kv["lease"])))
    }

    /// Writes a value obtained by [`read`](Self::read).
    pub fn copy(&self, key: &[u8], value: &str) {
        let body = json!({ "key": base64(key), "value": value });
        self.cluster.ask(0, "/v3/kv/put", &body).unwrap();
    }

    pub fn delete(&self, key: &[u8]) {
        self.cluster.ask(0, "/v3/kv/deleterange", &json!({ "key": base64(key) })).unwrap();
    }
}

pub fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

impl Server {
    pub fn seal(&self) -> Option<Vec<u8>> {
        let now = wrong(&self.time, self.ahead);
        let session = SessionState {
            suite: CipherSuite::TLS_AES_128_GCM_SHA256,
            psk: Secret::from_slice(&[7; 32]).unwrap(),
            protocol: None,
            server_name: None,
            peer: None,
            accepted_by: None,
            external_psk: None,
            authenticated_at: now.as_secs(),
            policy_epoch: 0,
            scope: Vec::new(),
            ancestry: Ancestry::PostQuantum,
            issued_at: now.as_millis() as u64,
            lifetime: 3600,
            age_add: 0,
            max_early_data_size: 0,
            companion: None,
            carrier: Carrier::STREAM,
        };
        self.keys.seal(&session, now)
    }

    pub fn opens(&self, ticket: &[u8]) -> bool {
        let unix = Some(wrong(&self.time, self.ahead));
        match self.keys.open(&OpenTicket::new(ticket.to_vec(), unix)) {
            Reply::Now(session) => session.is_some(),
            Reply::Later => unreachable!("the ring answers at once"),
        }
    }

    pub fn status(&self) -> RingStatus {
        self.ring.status()
    }

    /// Returns the ids of the active keys.
    pub fn active(&self) -> Vec<[u8; 16]> {
        self.status().active.iter().map(|key| key.id).collect()
    }
}

/// Waits until a condition holds.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE * 2;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until all servers have read etcd again, agree, and have nothing in progress.
pub fn settled(servers: &[Server]) {
    let looks: Vec<_> = servers.iter().map(|server| server.status().looks).collect();
    until("the ring settles", || {
        let statuses: Vec<_> = servers.iter().map(Server::status).collect();
        statuses.iter().zip(&looks).all(|(status, looks)| {
            status.looks > looks + 1
                && status.distributing.is_some()
                && status.distributing == statuses[0].distributing
                && status.waiting_for.is_empty()
                && !status.active.is_empty()
                && status.active == statuses[0].active
        })
    });
}
