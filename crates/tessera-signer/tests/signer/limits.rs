//! Clients that want too much.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;
use tessera_pki::rcgen;
use tessera_signer::server::{HeldKey, Keys};
use tessera_tokio::Limits;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::common::*;

#[tokio::test]
async fn a_client_gets_its_burst_and_others_have_their_own() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let mut keys = Keys::default();
    // One a second: no more than one comes back while this runs for a few seconds.
    keys.add("www", held(&leaf, &[EDGE, "edge-b.internal"], 20));
    let signer = world.signer(keys, Limits::for_connections(64), 1).await;
    let mut one = RawClient::connect(&world.client(EDGE), signer.address).await.unwrap();
    let message = content(&[7; 32]);
    // What is refused costs nothing of it.
    for _ in 0..30 {
        assert_eq!(one.ask(P256, "www", &message[1..]).await, CONTENT);
    }
    let mut signed = 0;
    for at in 0..60 {
        // Also over several connections.
        if at % 20 == 0 {
            one = RawClient::connect(&world.client(EDGE), signer.address).await.unwrap();
        }
        match one.ask(P256, "www", &message).await {
            RawAnswer::Signed(_) => signed += 1,
            answer => assert_eq!(answer, RATE),
        }
    }
    assert!((20..50).contains(&signed), "{signed}");
    let other = world.client("edge-b.internal");
    let mut other = RawClient::connect(&other, signer.address).await.unwrap();
    assert!(matches!(other.ask(P256, "www", &message).await, RawAnswer::Signed(_)));
}

/// Signs when it may.
struct Held {
    may: Mutex<bool>,
    changed: Condvar,
}

impl Signer for Held {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::RSA_PSS_RSAE_SHA256]
    }

    fn sign(&self, _: SignatureScheme, _: &[u8]) -> Result<Vec<u8>, SigningError> {
        let may = self.may.lock().unwrap();
        drop(self.changed.wait_timeout_while(may, PATIENCE, |may| !*may).unwrap());
        Ok(b"signature".to_vec())
    }
}

/// With one thread, on which it would block everything.
#[tokio::test]
async fn slow_signatures_keep_no_one_waiting_and_are_few_at_a_time() {
    let world = World::new();
    let slow = Arc::new(Held { may: Mutex::new(false), changed: Condvar::new() });
    let mut keys = Keys::default();
    keys.add("slow", HeldKey::new(slow.clone(), [EDGE], rate(1, 1000)));
    keys.add("www", held(&world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256), &[EDGE], 1000));
    let signer = world.signer(keys, Limits::for_connections(64), 2).await;
    let mut client = RawClient::connect(&world.client(EDGE), signer.address).await.unwrap();
    let (pss, message) = (SignatureScheme::RSA_PSS_RSAE_SHA256, content(&[7; 32]));
    for id in [1, 2, 3] {
        client.write(&sign(id, pss, "slow", &message)).await;
    }
    client.write(&sign(4, P256, "www", &message)).await;
    // Those that take no time come first.
    assert_eq!(client.read().await, Some((3, BUSY)));
    assert!(matches!(client.read().await, Some((4, RawAnswer::Signed(_)))));
    *slow.may.lock().unwrap() = true;
    slow.changed.notify_all();
    let mut ids = [client.read().await.unwrap().0, client.read().await.unwrap().0];
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
    // The places are free again.
    assert_eq!(client.ask(pss, "slow", &message).await, RawAnswer::Signed(b"signature".to_vec()));
}

#[tokio::test]
async fn what_is_refused_as_busy_uses_up_no_rate() {
    let world = World::new();
    let slow = Arc::new(Held { may: Mutex::new(false), changed: Condvar::new() });
    let mut keys = Keys::default();
    keys.add("slow", HeldKey::new(slow.clone(), [EDGE], rate(1, 3)));
    let signer = world.signer(keys, Limits::for_connections(64), 1).await;
    let mut client = RawClient::connect(&world.client(EDGE), signer.address).await.unwrap();
    let (pss, message) = (SignatureScheme::RSA_PSS_RSAE_SHA256, content(&[7; 32]));
    client.write(&sign(1, pss, "slow", &message)).await;
    for id in 2..10 {
        client.write(&sign(id, pss, "slow", &message)).await;
        assert_eq!(client.read().await, Some((id, BUSY)));
    }
    *slow.may.lock().unwrap() = true;
    slow.changed.notify_all();
    assert_eq!(client.read().await.unwrap().0, 1);
    assert!(matches!(client.ask(pss, "slow", &message).await, RawAnswer::Signed(_)));
}

#[tokio::test]
async fn a_reload_does_not_refill_a_rate_that_is_unchanged() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let keys = |burst| {
        let mut keys = Keys::default();
        keys.add("www", held(&leaf, &[EDGE], burst));
        keys
    };
    let signer = world.signer(keys(30), Limits::for_connections(64), 1).await;
    let mut client = RawClient::connect(&world.client(EDGE), signer.address).await.unwrap();
    let message = content(&[7; 32]);
    let mut signed = async |requests| {
        let mut signed = 0;
        for _ in 0..requests {
            let answer = client.ask(P256, "www", &message).await;
            signed += usize::from(matches!(answer, RawAnswer::Signed(_)));
        }
        signed
    };
    assert!(signed(40).await >= 30);
    signer.server.replace(keys(30));
    // One a second comes back.
    assert!(signed(30).await < 20);
    signer.server.replace(keys(31));
    assert_eq!(signed(30).await, 30, "the rate is another");
}

/// Signs at once, at length.
struct Long(AtomicUsize);

impl Signer for Long {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::RSA_PSS_RSAE_SHA256]
    }

    fn sign(&self, _: SignatureScheme, _: &[u8]) -> Result<Vec<u8>, SigningError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(vec![7; 60_000])
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reads_no_answers_gets_no_further_slow_signatures() {
    const REQUESTS: u64 = 2000;
    let world = World::new();
    let long = Arc::new(Long(AtomicUsize::new(0)));
    let mut keys = Keys::default();
    keys.add("slow", HeldKey::new(long.clone(), [EDGE], rate(1, 10_000)));
    let signer = world.signer(keys, Limits::for_connections(64), 10_000).await;
    let mut client = RawClient::connect(&world.client(EDGE), signer.address).await.unwrap();
    let (pss, message) = (SignatureScheme::RSA_PSS_RSAE_SHA256, content(&[7; 32]));
    let requests = (0..REQUESTS).flat_map(|id| sign(id, pss, "slow", &message));
    let requests: Vec<u8> = requests.collect();
    let writing = tokio::spawn(async move {
        client.write(&requests).await;
        client
    });
    // Until no more are signed.
    let mut before = 0;
    timeout(PATIENCE, async {
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let signed = long.0.load(Ordering::Relaxed);
            if signed > 0 && signed == before {
                return;
            }
            before = signed;
        }
    })
    .await
    .unwrap();
    assert!(before < 1000, "{before} signatures for a client that reads none");
    writing.abort();
}

#[tokio::test]
async fn what_is_no_request_ends_the_connection() {
    let world = World::new();
    let signer = world.signer_of(&world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256)).await;
    let too_long = sign(1, P256, "www", &[7; 4097]);
    for bytes in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![0; 64], too_long] {
        let mut client = RawClient::connect(&world.client(EDGE), signer.address).await.unwrap();
        client.write(&bytes).await;
        assert_eq!(client.read().await, None, "{bytes:?}");
    }
    until("they aren't counted", || signer.count("tessera_signer_failed_connections_total") == 3)
        .await;
}

#[tokio::test]
async fn an_address_has_a_share_of_the_connections_and_silence_ends_one() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let mut keys = Keys::default();
    keys.add("www", held(&leaf, &[EDGE], 1000));
    let mut limits = Limits::for_connections(16);
    limits.idle = Duration::from_millis(500);
    let signer = world.signer(keys, limits, 1).await;
    let connector = world.client(EDGE);
    let mut one = RawClient::connect(&connector, signer.address).await.unwrap();
    // A part of a request is silence, too.
    one.write(&sign(1, P256, "www", &content(&[7; 32]))[..20]).await;
    let mut others = vec![RawClient::connect(&connector, signer.address).await.unwrap()];
    assert!(RawClient::connect(&connector, signer.address).await.is_err(), "the third of two");
    let ended = timeout(PATIENCE, one.stream.read_u8()).await.expect("it stays open");
    assert!(ended.is_err());
    others.clear();
}
