//! Replays RFC 8448 against a server: the clients are those of the traces, and the server's random,
//! key share and signatures are scripted. Hash, AEAD and X25519 are real.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera::auth::{
    Credential, PeerAcceptance, PeerRejected, PeerVerifier, PrivateKey, VerifierPolicy, VerifyPeer,
};
use tessera::crypto::{
    AgreementError, Ephemeral, KeyAgreement, OneTimeKeys, Provider, Random, RandomFailed, Secret,
    SharedSecret, Signer, SigningError,
};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::resume::{Ancestry, Carrier, OpenTicket, ReplayGuard, SessionState, TicketKeys};
use tessera::wire::{CipherSuite, NamedGroup, SignatureScheme};
use tessera::{Output, ReadEvent, ServerConfig, ServerConnection, Time};
use tessera_harness::{OneRegister, Secrets, Trace, records};

/// Returns the server's random of a trace, and zeros for the ticket_age_add that is drawn with it and not sent here.
struct TraceRandom(Vec<u8>);

impl Random for TraceRandom {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        out.copy_from_slice(self.0.get(..out.len()).ok_or(RandomFailed)?);
        Ok(())
    }
}

/// X25519 with the server's key of a trace.
struct ScriptedX25519 {
    keys: &'static dyn OneTimeKeys,
    private: Vec<u8>,
    shared: Vec<u8>,
}

impl KeyAgreement for ScriptedX25519 {
    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn share_len(&self) -> usize {
        32
    }

    fn reply_len(&self) -> usize {
        32
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        Err(AgreementError::Provider)
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let key = self.keys.from_seed(&self.private)?;
        let public = key.public()?;
        let shared = key.open(share)?;
        assert_eq!(shared.expose(), self.shared);
        Ok((public, shared))
    }
}

/// Signs as the trace did.
struct ScriptedSigner {
    scheme: [SignatureScheme; 1],
    signature: Vec<u8>,
}

impl Signer for ScriptedSigner {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.scheme
    }

    fn sign(&self, _: SignatureScheme, _: &[u8]) -> Result<Vec<u8>, SigningError> {
        Ok(self.signature.clone())
    }
}

/// Lists the schemes of the trace; no trace gets so far that it would be asked.
struct ScriptedVerifier(Vec<SignatureScheme>);

impl PeerVerifier for ScriptedVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.0
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: no peer")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Later
    }
}

/// Knows the one ticket of the traces.
struct ScriptedTicket(Mutex<Option<SessionState>>);

impl TicketKeys for ScriptedTicket {
    fn seal(&self, _: &SessionState, _: Duration) -> Option<Vec<u8>> {
        None
    }

    fn open(&self, _: &OpenTicket) -> Reply<Option<SessionState>> {
        Reply::Now(self.0.lock().expect("not poisoned").take())
    }
}

fn provider(trace: &Trace) -> Provider {
    let real = tessera_aws_lc::provider();
    let keys = real.one_time(NamedGroup::X25519).expect("X25519");
    let x25519: &'static ScriptedX25519 = Box::leak(Box::new(ScriptedX25519 {
        keys,
        private: trace.get("keys", "server_x25519_private").to_vec(),
        shared: trace.secret("shared").to_vec(),
    }));
    let random = [&trace.message("server_hello")[6..38], &[0; 4]].concat();
    Provider {
        suites: real.suites,
        groups: Box::leak(Box::new([x25519 as &dyn KeyAgreement])),
        one_time_keys: &[],
        kems: &[],
        random: Box::leak(Box::new(TraceRandom(random))),
        stack_depth: real.stack_depth,
    }
}

fn config(trace: &Trace, secrets: &Arc<Secrets>) -> ServerConfig {
    let verify = trace.find("messages", "server_certificate_verify").unwrap_or(&[0; 8]);
    let scheme = SignatureScheme(u16::from_be_bytes([verify[4], verify[5]]));
    let chain = trace.find("messages", "server_certificate").map(|message| message[11..].to_vec());
    let signer = ScriptedSigner { scheme: [scheme], signature: verify[8..].to_vec() };
    let credential =
        Credential::new(vec![chain.unwrap_or(vec![0x30])], PrivateKey::Signs(Arc::new(signer)));
    let mut config = ServerConfig::new(provider(trace), vec![credential]);
    config.key_log = Some(secrets.clone());
    config
}

/// Delivers the client's first records to a server at `unix`; returns what it sends, and the
/// early data that it accepts.
fn replay(trace: &Trace, config: ServerConfig, unix: Duration) -> (Vec<Vec<u8>>, Vec<u8>) {
    let now = Time { monotonic: Duration::ZERO, unix: Some(unix) };
    let mut server = ServerConnection::start(config.checked().expect("works"), now);
    let mut output = Output::new();
    let mut early = Vec::new();
    for (name, record) in trace.section("records") {
        if name != "01_client_client_hello" && name != "02_client_early_data" {
            continue;
        }
        let mut input = record.to_vec();
        let mut consumed = 0;
        while consumed < input.len() {
            let progress = server.read(now, &mut input[consumed..], &mut output);
            let progress = progress.expect("the traces are right");
            if let ReadEvent::EarlyData(data) = progress.event {
                early.extend_from_slice(&input[consumed..][data]);
            }
            consumed += progress.consumed;
        }
    }
    (records(output.as_slice()), early)
}

fn check_secrets(trace: &Trace, secrets: &Secrets) {
    for (label, name) in [
        ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "c_hs_traffic"),
        ("SERVER_HANDSHAKE_TRAFFIC_SECRET", "s_hs_traffic"),
        ("CLIENT_EARLY_TRAFFIC_SECRET", "c_e_traffic"),
    ] {
        assert_eq!(secrets.get(label).as_deref(), trace.find("secrets", name), "{name}");
    }
}

fn trace(name: &str) -> Trace {
    Trace::read(match name {
        "simple_1rtt" => include_str!("../rfc8448/simple_1rtt.txt"),
        "resumed_0rtt" => include_str!("../rfc8448/resumed_0rtt.txt"),
        "client_authentication" => include_str!("../rfc8448/client_authentication.txt"),
        _ => include_str!("../rfc8448/compatibility_mode.txt"),
    })
}

#[test]
fn full_handshakes_are_the_bytes_of_rfc_8448() {
    for name in ["simple_1rtt", "client_authentication", "compatibility_mode"] {
        let trace = trace(name);
        let secrets = Arc::new(Secrets::default());
        let mut config = config(&trace, &secrets);
        if name == "client_authentication" {
            let schemes = vec![SignatureScheme::RSA_PSS_RSAE_SHA256];
            let verifier = Arc::new(ScriptedVerifier(schemes));
            config.client_authentication = ClientAuthentication::Required(verifier);
        }
        let (sent, _) = replay(&trace, config, Duration::from_secs(1_500_000_000));
        assert_eq!(sent[0], trace.get("records", "02_server_server_hello"), "{name}");
        // This server sends it to every client.
        assert_eq!(sent[1], [20, 3, 3, 0, 1, 1]);
        if let Some(record) = trace.find("records", "03_server_change_cipher_spec") {
            assert_eq!(sent[1], record);
        }
        assert_eq!(sent.len(), 3, "one flight, {name}");
        check_secrets(&trace, &secrets);
    }
}

#[test]
fn a_resumption_with_early_data_is_the_bytes_of_rfc_8448() {
    let (first, trace) = (trace("simple_1rtt"), trace("resumed_0rtt"));
    let secrets = Arc::new(Secrets::default());
    let mut config = config(&trace, &secrets);
    let number = |name| {
        let bytes = first.get("ticket", name).try_into().expect("four bytes");
        u32::from_be_bytes(bytes)
    };
    let age_add = number("age_add");
    let mut hello = tessera_harness::Hello::read(trace.message("client_hello"));
    let (identity, obfuscated_age) = hello.identities().remove(0);
    assert_eq!(identity, first.get("ticket", "ticket"));
    assert_eq!(hello.binders()[0], trace.get("finished", "binder"));
    let issued_at = 1_500_000_000_000;
    let session = SessionState {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        psk: Secret::from_slice(first.secret("resumption_psk")).expect("32 bytes"),
        protocol: None,
        server_name: Some("server".into()),
        peer: None,
        accepted_by: None,
        external_psk: None,
        authenticated_at: issued_at / 1000,
        policy_epoch: 0,
        scope: Vec::new(),
        ancestry: Ancestry::Classical,
        issued_at,
        lifetime: number("lifetime"),
        age_add,
        max_early_data_size: 1024,
        companion: None,
        carrier: Carrier::STREAM,
    };
    config.tickets = Some(Arc::new(ScriptedTicket(Mutex::new(Some(session)))));
    config.policy.early_data.replayable_without_forward_secrecy =
        Some(ReplayGuard { register: Arc::new(OneRegister::default()), max_early_data_size: 1024 });
    let age = u64::from(obfuscated_age.wrapping_sub(age_add));
    let (sent, early) = replay(&trace, config, Duration::from_millis(issued_at + age));
    assert_eq!(sent[0], trace.get("records", "03_server_server_hello"));
    assert_eq!(early, trace.get("plaintexts", "client_early_data"));
    check_secrets(&trace, &secrets);
}
