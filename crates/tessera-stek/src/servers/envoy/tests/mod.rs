//! What the service sends and understands, with a client that behaves as Envoy does.

mod client;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tessera_aws_lc::provider;
use tessera_test_peers::Directory;
use tessera_vault::TicketKey;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use self::client::{EnvoyClient, call_wrongly};
use super::*;
use crate::keys::TicketKeyDomain;

/// A service, and keys for it.
struct Sidecar {
    envoy: Arc<Envoy>,
    socket: PathBuf,
    directory: Directory,
}

fn server_keys(form: TicketKeyForm) -> ServerKeys {
    ServerKeys::new(&provider(), form, &TicketKeyDomain { kind: "envoy", name: "test".into() })
}

fn listen(socket: PathBuf) -> Result<Envoy, ProgramError> {
    let keys = server_keys(TicketKeyForm::Aes256);
    Envoy::listen(EnvoyParts { socket, secret: "stek".into(), keys })
}

impl Sidecar {
    fn start() -> Self {
        let directory = Directory::new();
        let socket = directory.as_path().join("sds");
        let envoy = Arc::new(listen(socket.clone()).unwrap());
        Self { envoy, socket, directory }
    }

    async fn connect(&self, node: &str) -> EnvoyClient {
        EnvoyClient::connect(&self.socket, node, "stek").await
    }

    /// Begins to install keys.
    fn install(&self, keys: &Arc<RingKeys>) -> JoinHandle<Result<(), InstallRefused>> {
        let (envoy, keys) = (self.envoy.clone(), keys.clone());
        tokio::spawn(async move { envoy.install(&keys).await })
    }
}

fn ring_keys() -> Arc<RingKeys> {
    let key = || {
        let hour = Duration::from_secs(3600);
        Box::new(TicketKey::generate(&provider(), hour, hour, hour).unwrap())
    };
    let (issuing, next, earlier) = (Some(key()), Some(key()), vec![key(), key()]);
    Arc::new(RingKeys { now: Duration::ZERO, issuing, next, earlier })
}

/// Returns the keys as an Envoy should have them.
fn in_order(keys: &RingKeys) -> Vec<Vec<u8>> {
    let keys = server_keys(TicketKeyForm::Aes256).derive(keys, &mut Fillers::default()).unwrap();
    keys.in_order().map(|key| key.to_vec()).collect()
}

#[tokio::test]
async fn keys_are_installed_when_each_envoy_has_confirmed_them() {
    let sidecar = Sidecar::start();
    let (mut a, mut b) = (sidecar.connect("a").await, sidecar.connect("b").await);
    assert!(a.receives_nothing().await, "there are no keys yet");
    let keys = ring_keys();
    let installation = sidecar.install(&keys);
    let (at_a, at_b) = (a.receive().await, b.receive().await);
    assert_eq!(at_a.keys, in_order(&keys));
    assert_eq!(at_b.keys, at_a.keys);
    assert!(at_a.keys.len() == 4 && at_a.keys.iter().all(|key| key.len() == 80));
    a.accept(&at_a).await;
    sleep(Duration::from_millis(100)).await;
    assert!(!installation.is_finished(), "b hasn't confirmed them");
    b.accept(&at_b).await;
    installation.await.unwrap().unwrap();
    // The same again: nothing is sent.
    sidecar.install(&keys).await.unwrap().unwrap();
    assert!(a.receives_nothing().await);
    // Others: an answer to the earlier ones confirms nothing.
    let installation = sidecar.install(&ring_keys());
    let (changed, _) = (a.receive().await, b.receive().await);
    assert_ne!(changed.keys, at_a.keys);
    a.accept(&at_a).await;
    // b leaves, and doesn't count.
    drop(b);
    sleep(Duration::from_millis(100)).await;
    assert!(!installation.is_finished(), "a hasn't confirmed them");
    a.accept(&changed).await;
    installation.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_that_refuses_keys_is_quoted_and_gets_them_again() {
    let sidecar = Sidecar::start();
    let (mut a, mut b) = (sidecar.connect("a").await, sidecar.connect("b").await);
    let keys = ring_keys();
    let installation = sidecar.install(&keys);
    let (at_a, at_b) = (a.receive().await, b.receive().await);
    a.accept(&at_a).await;
    b.refuse(&at_b, "incorrect length").await;
    let refusal = installation.await.unwrap().unwrap_err().to_string();
    assert_eq!(
        refusal,
        "Envoy `b` refused the ticket keys, and goes on with the earlier ones: incorrect length"
    );
    let installation = sidecar.install(&keys);
    for envoy in [&mut a, &mut b] {
        let again = envoy.receive().await;
        assert_eq!(again.keys, at_b.keys);
        envoy.accept(&again).await;
    }
    installation.await.unwrap().unwrap();
}

#[tokio::test]
async fn without_an_envoy_keys_are_kept_for_the_one_that_comes() {
    let sidecar = Sidecar::start();
    let keys = ring_keys();
    let refusal = sidecar.install(&keys).await.unwrap().unwrap_err().to_string();
    assert!(refusal.starts_with("no Envoy asks for the secret `stek` at "), "{refusal}");
    // One that asks for another secret doesn't count, and gets nothing.
    let mut other = EnvoyClient::connect(&sidecar.socket, "other", "certificates").await;
    assert!(other.receives_nothing().await);
    assert!(sidecar.install(&keys).await.unwrap().is_err());
    let mut envoy = sidecar.connect("a").await;
    let sent = envoy.receive().await;
    assert_eq!(sent.keys, in_order(&keys));
    // One that asks for another secret from now on no longer counts.
    let mut leaving = sidecar.connect("b").await;
    leaving.receive().await;
    leaving.ask_for("certificates").await;
    let installation = sidecar.install(&keys);
    envoy.accept(&sent).await;
    installation.await.unwrap().unwrap();
    // It comes back, and is answered.
    drop(envoy);
    let mut envoy = sidecar.connect("a").await;
    assert_eq!(envoy.receive().await.keys, sent.keys);
}

#[tokio::test]
async fn a_client_that_does_not_answer_is_named() {
    let sidecar = Sidecar::start();
    let mut envoy = sidecar.connect("silent").await;
    let installation = sidecar.install(&ring_keys());
    envoy.receive().await;
    let refusal = installation.await.unwrap().unwrap_err().to_string();
    assert!(refusal.starts_with("Envoy `silent` didn't confirm the ticket keys within 1 s"));
}

#[tokio::test]
async fn a_random_key_seals_while_the_ring_has_none() {
    let sidecar = Sidecar::start();
    let mut envoy = sidecar.connect("a").await;
    let install = async |keys: RingKeys, envoy: &mut EnvoyClient| {
        let installation = sidecar.install(&Arc::new(keys));
        let sent = envoy.receive().await;
        envoy.accept(&sent).await;
        installation.await.unwrap().unwrap();
        sent.keys
    };
    let empty = install(RingKeys::default(), &mut envoy).await;
    assert_eq!(empty.len(), 1);
    assert!(sidecar.install(&Arc::default()).await.unwrap().is_ok(), "the random key stays");
    assert!(envoy.receives_nothing().await);
    let next = Arc::into_inner(ring_keys()).unwrap().next;
    let with_next = install(RingKeys { next, ..RingKeys::default() }, &mut envoy).await;
    assert_eq!((with_next.len(), &with_next[0]), (2, &empty[0]));
}

/// After a reboot while the store is down: Envoy listens only once it has a key.
#[tokio::test]
async fn an_envoy_without_keys_gets_a_random_one_while_the_ring_is_unknown() {
    let sidecar = Sidecar::start();
    let mut fresh = sidecar.connect("fresh").await;
    let mut back = EnvoyClient::connect_again(&sidecar.socket, "back", "stek").await;
    let stand_in = fresh.receive().await;
    assert_eq!(stand_in.keys.len(), 1);
    fresh.accept(&stand_in).await;
    assert!(back.receives_nothing().await, "it has better keys");
    let keys = ring_keys();
    let installation = sidecar.install(&keys);
    for envoy in [&mut fresh, &mut back] {
        let sent = envoy.receive().await;
        assert_eq!(sent.keys, in_order(&keys));
        envoy.accept(&sent).await;
    }
    installation.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_streams_end_with_the_sidecar_and_the_next_one_answers_there() {
    let Sidecar { envoy, socket, directory } = Sidecar::start();
    let mut client = EnvoyClient::connect(&socket, "a", "stek").await;
    assert!(listen(socket.clone()).is_err(), "two sidecars for one socket");
    drop(envoy);
    client.ends().await;
    let sidecar = Sidecar { envoy: Arc::new(listen(socket.clone()).unwrap()), socket, directory };
    let mut client = sidecar.connect("a").await;
    let installation = sidecar.install(&ring_keys());
    let sent = client.receive().await;
    client.accept(&sent).await;
    installation.await.unwrap().unwrap();
}

#[tokio::test]
async fn unsupported_subscriptions_and_keys_are_refused_with_the_reason() {
    let sidecar = Sidecar::start();
    let (status, head) = call_wrongly(&sidecar.socket, "FetchSecrets", "application/grpc").await;
    assert_eq!((status.as_u16(), head["grpc-status"].as_bytes()), (200, &b"12"[..]));
    assert!(head["grpc-message"].to_str().unwrap().contains("`api_type: GRPC`"));
    let (status, _) = call_wrongly(&sidecar.socket, "StreamSecrets", "application/json").await;
    assert_eq!(status.as_u16(), 415);
    let mut other = EnvoyClient::connect_for(&sidecar.socket, "a", "stek", "another.Type").await;
    assert_eq!(other.receives_status().await, "3", "INVALID_ARGUMENT");
    let keys = server_keys(TicketKeyForm::Aes128);
    let socket = sidecar.directory.as_path().join("other");
    let error = Envoy::listen(EnvoyParts { socket, secret: "stek".into(), keys }).err().unwrap();
    assert_eq!(error.to_string(), "Envoy's ticket keys have 80 bytes");
}

/// Only Envoy's user can reach the socket, and that user must not exhaust the sidecar for others.
#[tokio::test]
async fn clients_that_ask_for_nothing_or_too_much_are_bounded() {
    let sidecar = Sidecar::start();
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(tokio::net::UnixStream::connect(&sidecar.socket).await.unwrap());
    }
    // Those beyond the limit are closed at once.
    let mut closed = 0;
    for client in &mut silent {
        let mut bytes = [0; 64];
        let read = tokio::io::AsyncReadExt::read(client, &mut bytes);
        let read = tokio::time::timeout(Duration::from_millis(50), read).await;
        closed += usize::from(matches!(read, Ok(Ok(0) | Err(_))));
    }
    assert_eq!(closed, 40 - 32);
    drop(silent);
    sleep(Duration::from_millis(200)).await;
    let mut envoy = sidecar.connect(&"long \u{1b}[2J".repeat(100)).await;
    let installation = sidecar.install(&ring_keys());
    let sent = envoy.receive().await;
    envoy.refuse(&sent, &"no\n".repeat(1000)).await;
    let refusal = installation.await.unwrap().unwrap_err().to_string();
    assert!(refusal.len() < 2000 && !refusal.contains(char::is_control), "{refusal}");
}
