//! Replays RFC 8448 against the server from EncryptedExtensions on (its own would differ: it lists
//! no groups): compares everything that it sends, and every secret, with the traces.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use tessera_harness::Trace;

use super::{Authentication, ExpectedInput, ServerPart, send_certificates, send_finished};
use crate::auth::{ConnectionCodecs, Credential, PrivateKey};
use crate::crypto::SharedSecret;
use crate::handshake::Epoch;
use crate::handshake::config::settle;
use crate::handshake::context::SecretLog;
use crate::handshake::handover::Handover;
use crate::handshake::lineage::Lineage;
use crate::handshake::secrets::handshake_secret;
use crate::handshake::server::ticket_plan::TicketPlan;
use crate::handshake::server::{ClientAuthentication, ServerConfig, ServerState};
use crate::handshake::state::State;
use crate::schedule::{EarlySecret, HandshakeSecret, STREAM, Transcript};
use crate::testing::{
    AES_128_GCM_SHA256, KDF, Recorder, ScriptedSigner, TRACES, TrustingVerifier, message, provider,
    trace,
};
use crate::wire::{CertificateRequest, ClientHello, HandshakeType, SignatureScheme};

fn config(trace: &Trace) -> ServerConfig {
    let mut config = ServerConfig::new(provider(trace), Vec::new());
    if let Some(certificate) = trace.find("messages", "server_certificate") {
        let verify = trace.message("server_certificate_verify");
        let chain = vec![certificate[11..certificate.len() - 2].to_vec()];
        let key = PrivateKey::Signs(ScriptedSigner::new(verify));
        config.credentials = vec![Credential::new(chain, key)];
    }
    if trace.find("messages", "certificate_request").is_some() {
        let request = message(trace, "certificate_request");
        let reader = request.reader_for(HandshakeType::CERTIFICATE_REQUEST).expect("a request");
        let request = CertificateRequest::read(reader).expect("as in the trace");
        let schemes =
            request.criteria.signature_algorithms.unwrap().iter().map(SignatureScheme).collect();
        config.client_authentication =
            ClientAuthentication::Required(Arc::new(TrustingVerifier(schemes)));
    }
    config
}

/// The flight of a trace's server after its EncryptedExtensions.
fn flight(trace: &Trace) -> Handover<ServerPart, HandshakeSecret> {
    let mut transcript = Transcript::start(KDF.hash, trace.message("client_hello"));
    if let Some(retry) = trace.find("messages", "hello_retry_request") {
        transcript =
            Transcript::after_retry(KDF.hash, &KDF.hash.hash(trace.message("client_hello")));
        transcript.add(retry);
        transcript.add(trace.message("client_hello_2"));
    }
    transcript.add(trace.message("server_hello"));
    let early = match trace.find("secrets", "psk") {
        Some(psk) => EarlySecret::new(KDF, psk),
        None => EarlySecret::without_psk(KDF),
    };
    let shared = SharedSecret::new(trace.secret("shared").to_vec());
    let log = SecretLog { key_log: None, client_random: &[0; 32] };
    let secrets = handshake_secret(early, Some(&shared), &transcript, log);
    transcript.add(trace.message("encrypted_extensions"));
    let receiving = match trace.find("messages", "end_of_early_data") {
        Some(_) => ExpectedInput::EarlyData,
        None => ExpectedInput::Finished,
    };
    Handover {
        own: ServerPart {
            config: settle(config(trace)),
            is_full: trace.find("secrets", "psk").is_none(),
            receiving,
            tickets: TicketPlan { count: 0, first_age_add: [0; 4], one_time_kind: None },
        },
        suite: &AES_128_GCM_SHA256,
        client_random: [0; 32],
        transcript,
        secrets,
        codecs: ConnectionCodecs::default(),
        lineage: Lineage::over(STREAM.carrier),
        unproved: None,
    }
}

#[test]
fn the_server_states_send_and_derive_what_the_rfc_8448_traces_do() {
    for name in TRACES {
        let trace = trace(name);
        let mut recorder = Recorder::default();
        let hello_name = match trace.find("messages", "client_hello_2") {
            Some(_) => "client_hello_2",
            None => "client_hello",
        };
        let hello = message(&trace, hello_name);
        let hello = hello.reader_for(HandshakeType::CLIENT_HELLO).expect("a hello");
        let hello = ClientHello::read(hello, &STREAM.versions).expect("as in the trace");
        let mut flight = flight(&trace);
        let state = recorder.step(|ctx| match trace.find("secrets", "psk") {
            Some(_) => send_finished(flight, ctx),
            None => {
                let authentication = Authentication::choose(&flight.own.config, &hello)?;
                let request = authentication.request(&flight.own.config, &mut flight.codecs)?;
                send_certificates(flight, &authentication, request, ctx)
            }
        });
        let mut server = state.unwrap_or_else(|error| panic!("{name}: {error}"));

        // The messages, byte for byte.
        let expected: Vec<(Epoch, Vec<u8>)> = [
            "certificate_request",
            "server_certificate",
            "server_certificate_verify",
            "server_finished",
        ]
        .into_iter()
        .filter_map(|name| Some((Epoch::Handshake, trace.find("messages", name)?.to_vec())))
        .collect();
        assert_eq!(recorder.sent, expected, "{name}");

        // The client's last flight.
        for name in [
            "end_of_early_data",
            "client_certificate",
            "client_certificate_verify",
            "client_finished",
        ] {
            if trace.find("messages", name).is_some() {
                let next = recorder.step(|ctx| server.receive(message(&trace, name), ctx));
                server = next.unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
        assert!(matches!(server, ServerState::Connected(_)), "{name}");

        // The secrets.
        let secret = |epoch, name| (epoch, trace.secret(name).to_vec());
        assert_eq!(recorder.write_secrets, [secret(Epoch::Application, "s_ap_traffic")]);
        let mut read = vec![secret(Epoch::Application, "c_ap_traffic")];
        if trace.find("messages", "end_of_early_data").is_some() {
            read.insert(0, secret(Epoch::Handshake, "c_hs_traffic"));
        }
        assert_eq!(recorder.read_secrets, read, "{name}");
    }
}

#[test]
fn the_server_refuses_a_finished_of_another_trace() {
    let trace = trace("simple_1rtt");
    let other = crate::testing::trace("compatibility_mode");
    let mut recorder = Recorder::default();
    let server = recorder.step(|ctx| send_finished(flight(&trace), ctx));
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    let finished = message(&other, "client_finished");
    let error = recorder.step(|ctx| server.receive(finished, ctx)).err().expect("it is wrong");
    assert_eq!(error.alert(), Some(crate::wire::AlertDescription::DECRYPT_ERROR));
}
