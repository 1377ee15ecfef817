//! Nothing secret is in the store, now or ever.

use std::sync::{Arc, Mutex};

use tessera_aws_lc::provider;
use tessera_edge_tests::{POOL_KEY, Pool, PoolSettings, entries, ever_stored, until};
use tessera_etcd::{EtcdClient, Transport};
use tessera_kit::clock::unix;
use tessera_kit::hex;
use tessera_ring::{
    FleetRing, Installation, Installer, MemberOptions, RingKeys, RingOptions, RingParts,
    system_clock,
};
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};

use crate::PROGRAM;

/// A member of the ring that keeps all keys that it is given.
#[derive(Clone, Default)]
struct Spy(Arc<Mutex<Vec<Vec<u8>>>>);

impl Installer for Spy {
    fn install<'a>(&'a self, keys: &'a RingKeys) -> Installation<'a> {
        let all = keys.issuing.iter().chain(&keys.next).chain(&keys.earlier);
        self.0.lock().unwrap().extend(all.map(|key| key.secret.to_vec()));
        Box::pin(async { Ok(()) })
    }
}

fn spy(pool: &Pool, spy: Spy) -> FleetRing {
    let wrapping = WrappingKeys::new(&provider(), WrappingPurpose::TicketKeys);
    let mut secret = [0; 32];
    secret.copy_from_slice(&hex::decode(POOL_KEY).unwrap());
    wrapping.add(EpochKey::forever(*b"tunnel ring key\0", secret.into()), unix()).unwrap();
    let transport = Transport::PlaintextOnPrivateNetwork;
    let patience = std::time::Duration::from_secs(2);
    let parts = RingParts {
        store: Arc::new(EtcdClient::new(pool.etcd.endpoints(), transport, patience)),
        provider: provider(),
        wrapping: Arc::new(wrapping),
        installer: Arc::new(spy),
        cache: None,
        clock: system_clock(),
    };
    let member = MemberOptions { name: Some("spy".into()), ..MemberOptions::default() };
    let options = RingOptions { member, ..RingOptions::new("/tessera/ring/") };
    FleetRing::open(parts, options).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_has_no_key_no_session_and_no_state() {
    let pool = Pool::start(PoolSettings::of(PROGRAM)).await;
    let known = Spy::default();
    let ring = spy(&pool, known.clone());
    let drone = pool.drone(Some("drone.example"));
    drone.is_served("/cart").await;
    let marker = b"a planted secret of the client's state";
    pool.instances[0].plant(&drone.seen, &marker[..]);
    for to in ["b", "a", "b"] {
        pool.moves(&drone, to).await;
    }
    assert_eq!(&pool.instances[1].planted(&drone.seen)[..], marker, "it has moved along");
    assert!(pool.proxies[0].metric("tessera_edge_moved_keys_total", "") > 0);
    // Handshakes take key pairs that are made ahead, as far as there are any.
    assert!(pool.proxies[0].metric("tessera_keys_ahead_events_total", "kind=\"x25519\"") > 0);
    until("the spy has keys", || !known.0.lock().unwrap().is_empty()).await;
    let before = known.0.lock().unwrap().len();
    ring.rotate().await.unwrap();
    until("the spy has the next keys", || known.0.lock().unwrap().len() > before).await;

    let mut secrets = known.0.lock().unwrap().clone();
    secrets.push(hex::decode(POOL_KEY).unwrap().to_vec());
    secrets.push(marker.to_vec());
    // The secret of each resumption comes early in an encoded session, and is 32 bytes or more.
    let sessions = drone.secrets();
    assert!(sessions.len() > 3 && secrets.len() > 3);
    let stored = ever_stored(&pool.etcd);
    assert!(contains(&stored, b"drone.example"), "what was stored was found");
    for secret in &secrets {
        for form in forms(secret) {
            assert!(!contains(&stored, &form), "{}", String::from_utf8_lossy(&form));
        }
    }
    for session in &sessions {
        for part in session[..64].windows(24) {
            assert!(!contains(&stored, part));
        }
    }
    // The third one is the mark by which a table learns whether it hears of changes.
    let kinds = ["edge/b/", "edge/p/", "edge/m/", "ring/"].map(|kind| format!("/tessera/{kind}"));
    for (key, value) in entries(&pool.etcd) {
        let name = String::from_utf8_lossy(&key).into_owned();
        assert!(kinds.iter().any(|kind| name.starts_with(kind)), "{name}");
        assert!(value.len() < 4096, "{name}: {}", value.len());
        if !name.starts_with(&kinds[3]) {
            // Of a known form, without room for keys.
            let entry: serde_json::Value = serde_json::from_slice(&value).unwrap();
            let known = [
                "version",
                "generation",
                "owned_since",
                "owned_in",
                "state_version",
                "state",
                "owner",
                "next",
                "earlier",
                "import",
                "deadline",
                "changes",
                "until",
                "authority",
                "forward",
                "resumption",
                "life",
                "vault",
                "site",
                "failure",
                "settings",
            ];
            for field in entry.as_object().unwrap().keys() {
                assert!(known.contains(&field.as_str()), "{name}: {field}");
            }
            // Of the pool's key only a digest of 64 bits.
            for (setting, value) in entry["settings"].as_object().into_iter().flatten() {
                assert!(value.as_str().unwrap().len() <= 16, "{name}: {setting}");
            }
        }
    }
    drop(ring);
}

/// Returns a secret in the forms in which it could be stored.
fn forms(secret: &[u8]) -> [Vec<u8>; 3] {
    use base64::Engine;
    let base64 = base64::engine::general_purpose::STANDARD_NO_PAD.encode(secret);
    // The last digit depends on what follows.
    let base64 = base64.as_bytes()[..base64.len() - 1].to_vec();
    [secret.to_vec(), hex::encode(secret).into_bytes(), base64]
}

fn contains(all: &[u8], part: &[u8]) -> bool {
    all.windows(part.len()).any(|window| window == part)
}
