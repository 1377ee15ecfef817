//! With groups whose keys decapsulate once.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tessera::auth::NoCertificates;
use tessera::crypto::{
    AgreementError, Ephemeral, KeyAgreement, Provider, RandomFailed, SharedSecret,
};
use tessera::resume::ExternalPsk;
use tessera::wire::{AlertDescription, CipherSuite, NamedGroup};
use tessera::{ClientConfig, Destination, Error, ServerConfig};
use tessera_harness::{Pair, ReceivedData, at};
use tessera_rustcrypto::{RandomSource, experimental_one_time_provider};

use crate::{AwsLc, complete};

const ONE_TIME: [NamedGroup; 4] = [
    NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM512,
    NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM768,
    NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM1024,
    NamedGroup::EXPERIMENTAL_ONE_TIME_X25519MLKEM768,
];

const MLKEM768: [NamedGroup; 1] = [NamedGroup::MLKEM768];
const ONE_TIME_768: [NamedGroup; 1] = [NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM768];

fn one_time_provider() -> Provider {
    experimental_one_time_provider::<AwsLc>()
}

fn psk() -> Vec<ExternalPsk> {
    let suite = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;
    vec![ExternalPsk::new(b"device".to_vec(), vec![7; 32].into(), suite)]
}

/// A client and a server that know a PSK, with these groups or their providers' defaults.
fn configs(provider: Provider) -> (ClientConfig, ServerConfig) {
    let mut client = ClientConfig::new(provider, Arc::new(NoCertificates));
    client.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    let mut server = ServerConfig::new(provider, Vec::new());
    server.external_psks = psk();
    (client, server)
}

fn start(client: &ClientConfig, server: &ServerConfig) -> Pair {
    let destination = Destination {
        server_name: "server.example".into(),
        external_psks: psk(),
        ..Default::default()
    };
    Pair::start(client, server, destination, at(0)).unwrap()
}

fn between(client: &[NamedGroup], server: &[NamedGroup]) -> Pair {
    let (mut client_config, mut server_config) = configs(one_time_provider());
    client_config.groups = client.to_vec();
    server_config.groups = server.to_vec();
    start(&client_config, &server_config)
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

#[test]
fn ends_that_name_a_one_time_group_agree_on_it() {
    for group in ONE_TIME {
        let mut pair = between(&[group], &[group]);
        complete(&mut pair);
        assert_eq!(pair.client.facts().group, Some(group));
        assert_eq!(pair.server.facts().group, Some(group));
    }
}

#[test]
fn no_configuration_has_a_one_time_group_by_default() {
    let (client, server) = configs(one_time_provider());
    for group in client.groups.iter().chain(&server.groups) {
        assert!(!ONE_TIME.contains(group), "{group:?}");
    }
    let mut pair = start(&client, &ServerConfig { groups: ONE_TIME.to_vec(), ..server });
    pair.run();
    assert_eq!(alert(&pair.to_server), Some(AlertDescription::HANDSHAKE_FAILURE));
}

#[test]
fn a_server_without_one_time_groups_chooses_none() {
    let mut pair = between(&ONE_TIME, &MLKEM768);
    pair.run();
    assert_eq!(alert(&pair.to_server), Some(AlertDescription::HANDSHAKE_FAILURE));

    let mut pair = between(&[ONE_TIME_768[0], MLKEM768[0]], &MLKEM768);
    complete(&mut pair);
    assert_eq!(pair.client.facts().group, Some(MLKEM768[0]));
}

/// Replaces the group of a ServerHello's share by one of the same length.
fn with_group(mut flight: Vec<u8>, from: NamedGroup, to: NamedGroup) -> Vec<u8> {
    // The group, and the length of ML-KEM-768's ciphertext.
    let share = [from.0.to_be_bytes(), 1088_u16.to_be_bytes()].concat();
    let place = flight.windows(4).position(|window| window == share).expect("a share");
    flight[place..place + 2].copy_from_slice(&to.0.to_be_bytes());
    flight
}

#[test]
fn a_one_time_group_that_was_not_offered_is_refused() {
    let mut pair = between(&MLKEM768, &MLKEM768);
    pair.client_to_server();
    let flight = with_group(pair.intercept_server(), MLKEM768[0], ONE_TIME_768[0]);
    pair.deliver_to_client(&flight);
    assert_eq!(alert(&pair.to_client), Some(AlertDescription::ILLEGAL_PARAMETER));
}

#[test]
fn the_group_of_the_share_before_a_hello_retry_request_is_refused() {
    let mut pair = between(&[ONE_TIME_768[0], MLKEM768[0]], &MLKEM768);
    pair.client_to_server();
    // HelloRetryRequest, and its answer.
    pair.server_to_client();
    pair.client_to_server();
    let flight = with_group(pair.intercept_server(), MLKEM768[0], ONE_TIME_768[0]);
    pair.deliver_to_client(&flight);
    assert_eq!(alert(&pair.to_client), Some(AlertDescription::ILLEGAL_PARAMETER));
}

/// Answers every share as it answered the first: after a HelloRetryRequest the old one.
struct OldShare;

static FIRST: Mutex<Option<Vec<u8>>> = Mutex::new(None);

impl KeyAgreement for OldShare {
    fn group(&self) -> NamedGroup {
        MLKEM768[0]
    }

    fn share_len(&self) -> usize {
        1184
    }

    fn reply_len(&self) -> usize {
        1088
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        Err(AgreementError::Provider)
    }

    fn encapsulate(&self, _: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let old = FIRST.lock().unwrap().clone().expect("a share");
        one_time_provider().group(ONE_TIME_768[0]).unwrap().encapsulate(&old)
    }
}

#[test]
fn a_ciphertext_to_the_share_before_a_hello_retry_request_opens_nothing() {
    let (mut client, mut server) = configs(one_time_provider());
    client.groups = vec![ONE_TIME_768[0], MLKEM768[0]];
    server.provider.groups = &[&OldShare];
    server.groups = MLKEM768.to_vec();
    let mut pair = start(&client, &server);
    let hello = pair.intercept_client();
    let share = [ONE_TIME_768[0].0.to_be_bytes(), 1184_u16.to_be_bytes()].concat();
    let place = hello.windows(4).position(|window| window == share).expect("a share") + 4;
    *FIRST.lock().unwrap() = Some(hello[place..place + 1184].to_vec());
    pair.deliver_to_server(&hello);
    pair.run();
    assert_eq!(alert(&pair.to_client), Some(AlertDescription::BAD_RECORD_MAC));
}

/// Records all that is drawn.
struct Recorded;

static DRAWN: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

impl RandomSource for Recorded {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        AwsLc::fill(out)?;
        DRAWN.lock().unwrap().push(out.to_vec());
        Ok(())
    }
}

#[test]
fn shares_and_the_one_after_a_hello_retry_request_have_seeds_of_their_own() {
    let (mut client, mut server) = configs(experimental_one_time_provider::<Recorded>());
    client.groups = vec![ONE_TIME[3], NamedGroup::X25519, ONE_TIME[1]];
    server.provider = one_time_provider();
    server.groups = vec![ONE_TIME[1]];
    complete(&mut start(&client, &server));
    let drawn = DRAWN.lock().unwrap();
    // Of one-time ML-KEM and X25519 in the hybrid, of X25519, and of one-time ML-KEM again.
    let seeds = drawn.iter().filter(|seed| seed.len() == 32).count();
    assert!(seeds >= 4, "{seeds}");
    assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), drawn.len());
}

/// Counts decapsulations, and keys that are gone.
struct Counted;

static DECAPSULATIONS: AtomicUsize = AtomicUsize::new(0);
static GONE: AtomicUsize = AtomicUsize::new(0);

struct CountedKey(Option<Box<dyn Ephemeral>>, Vec<u8>);

impl KeyAgreement for Counted {
    fn group(&self) -> NamedGroup {
        ONE_TIME_768[0]
    }

    fn share_len(&self) -> usize {
        1184
    }

    fn reply_len(&self) -> usize {
        1088
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let key = one_time_provider().group(self.group()).unwrap().generate()?;
        let share = key.share().to_vec();
        Ok(Box::new(CountedKey(Some(key), share)))
    }

    fn encapsulate(&self, _: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        Err(AgreementError::Provider)
    }
}

impl Ephemeral for CountedKey {
    fn share(&self) -> &[u8] {
        &self.1
    }

    fn decapsulate(mut self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        DECAPSULATIONS.fetch_add(1, Ordering::Relaxed);
        self.0.take().expect("a key").decapsulate(reply)
    }
}

impl Drop for CountedKey {
    fn drop(&mut self) {
        GONE.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_server_hello_that_fails_later_has_burned_the_key() {
    let (mut client, mut server) = configs(one_time_provider());
    client.provider.groups = &[&Counted];
    client.groups = ONE_TIME_768.to_vec();
    server.groups = ONE_TIME_768.to_vec();
    let mut pair = start(&client, &server);
    pair.client_to_server();
    let flight = pair.intercept_server();
    let share = [ONE_TIME_768[0].0.to_be_bytes(), 1088_u16.to_be_bytes()].concat();
    let place = flight.windows(4).position(|window| window == share).expect("a share") + 4;
    let mut changed = flight.clone();
    changed[place] ^= 1;
    pair.deliver_to_client(&changed);
    assert_eq!(alert(&pair.to_client), Some(AlertDescription::BAD_RECORD_MAC));
    assert_eq!(GONE.load(Ordering::Relaxed), 1);

    // The right one comes too late.
    pair.to_client.error = None;
    pair.deliver_to_client(&flight);
    assert!(pair.to_client.error.is_some() && !pair.to_client.complete);
    assert_eq!(DECAPSULATIONS.load(Ordering::Relaxed), 1);
}
