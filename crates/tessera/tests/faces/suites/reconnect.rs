//! Every way to connect and to reconnect, end to end in memory.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::crypto::Provider;
use tessera::handshake::{ClientAuthentication, EarlyDataStatus};
use tessera::resume::{
    Carrier, ClientSession, Continuation, ImportablePsk, OneTimeKeyGuard, PskKind, Verdict,
};
use tessera::wire::{AlertDescription, CipherSuite, NamedGroup};
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_harness::{OneVault, Pair, UnsealedTickets, at};
use tessera_null_provider::{NullSigner, NullVerifier};

use super::FACE;

fn client(provider: Provider) -> ClientConfig {
    ClientConfig::new(provider, Arc::new(NullVerifier))
}

fn server(provider: Provider) -> ServerConfig {
    let mut config = ServerConfig::new(provider, vec![credential()]);
    config.tickets = Some(Arc::new(UnsealedTickets));
    config
}

fn credential() -> Credential {
    Credential::new(vec![vec![0x30; 300]], PrivateKey::Signs(Arc::new(NullSigner)))
}

fn to(session: Option<ClientSession>) -> Destination {
    Destination {
        server_name: "server.example".into(),
        session: session.map(Box::new),
        ..Destination::default()
    }
}

/// Connects, exchanges data, and returns the pair.
fn connect(client: &ClientConfig, server: &ServerConfig, session: Option<ClientSession>) -> Pair {
    let mut pair = Pair::start_over(FACE, client, server, to(session), at(0)).expect("starts");
    if pair.client.early_data_room() > 0 {
        pair.client.write_early_data(b"early", &mut pair.client_output).expect("early data");
    }
    pair.run();
    assert_eq!(pair.to_server.error, None);
    assert_eq!(pair.to_client.error, None);
    assert!(pair.to_client.complete && pair.to_server.complete);
    pair.client_write(b"ping");
    pair.run();
    pair.server_write(b"pong");
    pair.run();
    assert_eq!(pair.to_server.data, b"ping");
    assert_eq!(pair.to_client.data, b"pong");
    pair
}

fn providers() -> [Provider; 2] {
    [tessera_null_provider::provider(), tessera_aws_lc::provider()]
}

#[test]
fn a_full_handshake_is_followed_by_a_resumption() {
    for provider in providers() {
        let (client, server) = (client(provider), server(provider));
        let mut first = connect(&client, &server, None);
        assert_eq!(first.client.facts().psk, None);
        assert_eq!(first.to_client.sessions.len(), 2);
        let session = first.to_client.sessions.pop();
        let second = connect(&client, &server, session);
        assert_eq!(second.client.facts().psk, Some(PskKind::Resumption));
        assert_eq!(second.server.facts().psk, Some(PskKind::Resumption));
        assert_eq!(second.to_client.sessions.len(), 1);
        assert_eq!(second.client.facts().group, Some(NamedGroup::X25519MLKEM768));
    }
}

#[test]
fn client_and_server_authenticate_each_other() {
    for provider in providers() {
        let (mut client, mut server) = (client(provider), server(provider));
        client.credentials = vec![credential()];
        server.client_authentication = ClientAuthentication::Required(Arc::new(NullVerifier));
        let pair = connect(&client, &server, None);
        assert!(pair.server.facts().peer.is_some());
    }
}

#[test]
fn a_client_without_a_fitting_share_connects_after_a_hello_retry_request() {
    for provider in providers() {
        let (mut client, mut server) = (client(provider), server(provider));
        client.groups = vec![NamedGroup::X25519, NamedGroup::X25519MLKEM768];
        server.groups = vec![NamedGroup::X25519MLKEM768];
        let mut pair = connect(&client, &server, None);
        assert!(pair.client.facts().hello_retry);
        let resumed = connect(&client, &server, pair.to_client.sessions.pop());
        assert!(!resumed.client.facts().hello_retry, "the session remembers the group");
        assert_eq!(resumed.client.facts().psk, Some(PskKind::Resumption));
    }
}

#[test]
fn forward_secret_early_data_is_accepted_with_every_kind_of_key() {
    for provider in providers() {
        for continuation in [Continuation::PskDheKe, Continuation::PskKe] {
            for kind in [NamedGroup::X25519, NamedGroup::X25519MLKEM768] {
                let (mut client, mut server) = (client(provider), server(provider));
                client.policy.early_data.forward_secret = Some(continuation);
                let mut guard = OneTimeKeyGuard::new(Arc::new(OneVault::default()));
                guard.continuation = continuation;
                guard.kinds = vec![kind];
                server.policy.early_data.forward_secret = Some(guard);
                let mut first = connect(&client, &server, None);
                let session = first.to_client.sessions.pop();
                let mut second = connect(&client, &server, session);
                assert_eq!(second.to_server.early_data, b"early");
                let facts = second.client.facts();
                assert_eq!(facts.psk, Some(PskKind::ForwardSecret));
                assert_eq!(facts.one_time_key, Some(kind));
                assert_eq!(facts.continuation, Some(continuation));
                assert_eq!(facts.early_data, EarlyDataStatus::Accepted);
                assert_eq!(facts.group.is_some(), continuation == Continuation::PskDheKe);
                // The session that came with it works as well: the chain continues.
                let third = connect(&client, &server, second.to_client.sessions.pop());
                assert_eq!(third.to_server.early_data, b"early");
            }
        }
    }
}

#[test]
fn forward_secret_early_data_after_retry_is_burned() {
    for provider in providers() {
        let (mut client, mut server) = (client(provider), server(provider));
        client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        server.policy.early_data.forward_secret =
            Some(OneTimeKeyGuard::new(Arc::new(OneVault::default())));
        let mut first = connect(&client, &server, None);
        server.groups = vec![NamedGroup::SECP256R1, NamedGroup::X25519];
        server.groups.retain(|group| provider.group(*group).is_some());
        let pair = connect(&client, &server, first.to_client.sessions.pop());
        assert_eq!(pair.to_server.early_data, b"");
        assert_eq!(pair.to_client.verdict, Some(Verdict::Burned));
    }
}

#[test]
fn an_imported_psk_connects() {
    for provider in providers() {
        let (mut client, mut server) = (client(provider), server(provider));
        let importable = |secret| ImportablePsk {
            external_identity: b"device 7".to_vec(),
            secret: vec![secret; 32].into(),
            context: b"client device 7, server hub".to_vec(),
            suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        };
        let imported = importable(1).import(&provider, Carrier::STREAM).expect("imports");
        assert_eq!(imported.len(), 2, "one for each hash");
        server.external_psks = imported.clone();
        for suite in [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384] {
            client.suites =
                vec![CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384];
            server.suites = vec![suite];
            let destination = Destination { external_psks: imported.clone(), ..to(None) };
            let mut pair =
                Pair::start_over(FACE, &client, &server, destination, at(0)).expect("starts");
            pair.run();
            assert!(pair.to_client.complete && pair.to_server.complete);
            assert_eq!(pair.server.facts().psk, Some(PskKind::Imported));
            assert_eq!(pair.server.facts().external_psk, pair.client.facts().external_psk);
        }
        let other = importable(2).import(&provider, Carrier::STREAM).expect("imports");
        let destination = Destination { external_psks: other, ..to(None) };
        let mut pair =
            Pair::start_over(FACE, &client, &server, destination, at(0)).expect("starts");
        pair.run();
        assert_eq!(
            pair.to_server.error.and_then(|error| error.alert()),
            Some(AlertDescription::DECRYPT_ERROR)
        );
    }
}
