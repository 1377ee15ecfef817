//! Replays RFC 8448 against the client, with the ClientHello of the trace. From ServerHello on
//! (compatibility mode) or EncryptedExtensions on (the other traces have no legacy_session_id, and
//! the engine always sends one), compares every message that it sends and every secret.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use tessera_harness::Trace;

use super::encrypted_extensions::ReadEncryptedExtensions;
use super::offer::Offer;
use super::server_hello::ReadServerHello;
use super::{ClientConfig, ClientState, Destination};
use crate::auth::{Credential, PeerIdentity, PrivateKey};
use crate::crypto::{Secret, SharedSecret};
use crate::handshake::config::settle;
use crate::handshake::context::SecretLog;
use crate::handshake::facts::EarlyDataStatus;
use crate::handshake::lineage::Lineage;
use crate::handshake::secrets::handshake_secret;
use crate::handshake::state::State;
use crate::handshake::{Direction, Epoch};
use crate::resume::{Ancestry, Carrier, ClientSession, PskKind, SessionClock, SessionState};
use crate::schedule::{EarlySecret, STREAM, Transcript};
use crate::testing::{
    AES_128_GCM_SHA256, KDF, Recorder, ScriptedSigner, TRACES, TrustingVerifier, message, provider,
    trace,
};
use crate::time::Time;
use crate::wire::{NamedGroup, SignatureScheme};

/// The offer of a trace's client.
pub(super) fn offer(trace: &Trace) -> Box<Offer> {
    let schemes =
        vec![SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::RSA_PSS_RSAE_SHA256];
    let mut config = ClientConfig::new(provider(trace), Arc::new(TrustingVerifier(schemes)));
    config.record_size_limit = Some(16_385);
    config.policy.early_data.replayable_without_forward_secrecy = true;
    if let Some(verify) = trace.find("messages", "client_certificate_verify") {
        let certificate = trace.message("client_certificate");
        // One certificate without extensions.
        let chain = vec![certificate[11..certificate.len() - 2].to_vec()];
        let key = PrivateKey::Signs(ScriptedSigner::new(verify));
        config.credentials = vec![Credential::new(chain, key)];
    }
    let config = settle(config);
    let now = Time { monotonic: Duration::ZERO, unix: Some(Duration::from_secs(1_500_000_000)) };
    let session = trace.find("secrets", "psk").map(|psk| ClientSession {
        state: SessionState {
            suite: AES_128_GCM_SHA256.id,
            psk: Secret::from_slice(psk).expect("32 bytes"),
            protocol: None,
            server_name: Some("server".into()),
            peer: Some(PeerIdentity::default()),
            accepted_by: config.authentication().verifier,
            external_psk: None,
            authenticated_at: 1_500_000_000,
            policy_epoch: 0,
            scope: Vec::new(),
            ancestry: Ancestry::Classical,
            issued_at: 1_500_000_000_000,
            lifetime: 30,
            age_add: 0,
            max_early_data_size: 1024,
            companion: None,
            carrier: Carrier::STREAM,
        },
        ticket: b"not sent".to_vec(),
        group: None,
        forward_secret: None,
        clock: SessionClock::Unix,
    });
    let destination = Destination {
        server_name: "server".into(),
        session: session.map(Box::new),
        ..Destination::default()
    };
    let mut offer = Offer::new(config, destination, &STREAM, now).expect("an offer");
    let hello = trace.message("client_hello");
    offer.random.copy_from_slice(&hello[6..38]);
    if hello[38] == 32 {
        offer.session_id.copy_from_slice(&hello[39..71]);
    }
    offer
}

/// The state after ServerHello, built from the key schedule.
fn after_server_hello(trace: &Trace, mut offer: Box<Offer>) -> ClientState {
    let mut transcript = match trace.find("messages", "hello_retry_request") {
        None => Transcript::start(KDF.hash, trace.message("client_hello")),
        Some(retry) => {
            let hello = trace.message("client_hello");
            let mut transcript = Transcript::after_retry(KDF.hash, &KDF.hash.hash(hello));
            transcript.add(retry);
            transcript.add(trace.message("client_hello_2"));
            transcript
        }
    };
    transcript.add(trace.message("server_hello"));
    let resumed = offer.session.is_some();
    let early = match resumed {
        true => offer.psks.remove(0).early,
        false => EarlySecret::without_psk(KDF),
    };
    let shared = SharedSecret::new(trace.secret("shared").to_vec());
    let log = SecretLog { key_log: None, client_random: &[0; 32] };
    let secrets = handshake_secret(early, Some(&shared), &transcript, log);
    ClientState::ReadEncryptedExtensions(Box::new(ReadEncryptedExtensions {
        offer,
        suite: &AES_128_GCM_SHA256,
        psk: resumed.then_some(PskKind::Resumption),
        group: Some(NamedGroup::X25519),
        one_time_key: None,
        lineage: Lineage::over(STREAM.carrier),
        first_identity: resumed,
        transcript,
        secrets,
    }))
}

#[test]
fn the_client_states_send_and_derive_what_the_rfc_8448_traces_do() {
    for name in TRACES {
        let trace = trace(name);
        let mut recorder = Recorder::default();
        let offer = offer(&trace);
        let compatible = name == "compatibility_mode";
        let state = if compatible {
            let hello = trace.message("client_hello").to_vec();
            ClientState::ReadServerHello(ReadServerHello::sent(offer, hello))
        } else {
            after_server_hello(&trace, offer)
        };
        let mut client = state;
        for (name, _) in trace.section("messages") {
            let is_next = name.starts_with("server_")
                || name == "encrypted_extensions"
                || name == "certificate_request";
            if is_next && (compatible || name != "server_hello") {
                let next = recorder.step(|ctx| client.receive(message(&trace, name), ctx));
                client = next.unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }

        // The messages, byte for byte.
        let expected: Vec<(Epoch, Vec<u8>)> = [
            (Epoch::EarlyData, "end_of_early_data"),
            (Epoch::Handshake, "client_certificate"),
            (Epoch::Handshake, "client_certificate_verify"),
            (Epoch::Handshake, "client_finished"),
        ]
        .into_iter()
        .filter_map(|(epoch, name)| Some((epoch, trace.find("messages", name)?.to_vec())))
        .collect();
        assert_eq!(recorder.sent, expected, "{name}");

        // The secrets.
        let secret = |epoch, name| (epoch, trace.secret(name).to_vec());
        let mut written = vec![
            secret(Epoch::Handshake, "c_hs_traffic"),
            secret(Epoch::Application, "c_ap_traffic"),
        ];
        // A client that doesn't read ServerHello here doesn't install this secret; after early data
        // it does so after EndOfEarlyData.
        if !compatible && trace.find("messages", "end_of_early_data").is_none() {
            written.remove(0);
        }
        assert_eq!(recorder.write_secrets, written, "{name}");
        let mut read = vec![
            secret(Epoch::Handshake, "s_hs_traffic"),
            secret(Epoch::Application, "s_ap_traffic"),
        ];
        if !compatible {
            read.remove(0);
        }
        assert_eq!(recorder.read_secrets, read, "{name}");
        let ClientState::Connected(connected) = client else { panic!("connected, {name}") };
        let write = connected.application.traffic(Direction::Write).expect("it can write");
        assert_eq!(write.expose(), trace.secret("c_ap_traffic"));
        let resumed = recorder.facts.psk.is_some() || name == "resumed_0rtt";
        assert_eq!(recorder.facts.early_data == EarlyDataStatus::Accepted, resumed, "{name}");
        if let Some(psk) = trace.find("secrets", "resumption_psk") {
            let nonce = trace.get("ticket", "nonce");
            assert_eq!(connected.resumption.psk(nonce).expose(), psk);
        }
    }
}

#[test]
fn the_client_refuses_a_finished_of_another_trace() {
    let trace = trace("simple_1rtt");
    let other = crate::testing::trace("compatibility_mode");
    let mut recorder = Recorder::default();
    let state = after_server_hello(&trace, offer(&trace));
    let mut client = state;
    for name in ["encrypted_extensions", "server_certificate", "server_certificate_verify"] {
        client = recorder.step(|ctx| client.receive(message(&trace, name), ctx)).expect(name);
    }
    let finished = message(&other, "server_finished");
    let error = recorder.step(|ctx| client.receive(finished, ctx)).err().expect("it is wrong");
    assert_eq!(error.alert(), Some(crate::wire::AlertDescription::DECRYPT_ERROR));
    assert!(recorder.sent.is_empty());
}
