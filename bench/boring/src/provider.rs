//! The operations in Tessera's provider (AWS-LC), verifier and ring, through the engine's traits.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tessera::Role;
use tessera::auth::{PeerVerifier, Proof, VerifyPeer};
use tessera::crypto::{KeyAgreement, Secret, Signer};
use tessera::handshake::Reply;
use tessera::resume::{Ancestry, Carrier, OpenTicket, SessionState, TicketKeys};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_aws_lc::SigningKey;
use tessera_vault::{TicketKey, TicketKeyRing};
use tessera_webpki::WebPkiVerifier;

use crate::Operation;
use crate::certificates::{NAME, Server};

const LIBRARY: &str = "tessera";

/// The groups of the provider, and the names of their operations: a client's first, a server's, a client's second.
const GROUPS: [(NamedGroup, [&str; 3]); 2] = [
    (
        NamedGroup::X25519,
        [
            "x25519 key generation",
            "x25519 key generation and shared secret",
            "x25519 shared secret",
        ],
    ),
    (
        NamedGroup::X25519MLKEM768,
        ["hybrid key generation", "hybrid encapsulation", "hybrid decapsulation"],
    ),
];

pub fn key_exchange() -> Vec<Operation> {
    let provider = tessera_aws_lc::provider();
    let known =
        GROUPS.into_iter().filter_map(|(group, names)| Some((provider.group(group)?, names)));
    known.flat_map(|(group, names)| of_group(group, names)).collect()
}

fn of_group(
    group: &'static dyn KeyAgreement,
    [generation, answer, opening]: [&str; 3],
) -> [Operation; 3] {
    let generate = move || group.generate().expect("a key");
    let answered = move || {
        let own = generate();
        let (reply, _) = group.encapsulate(own.share()).expect("an answer");
        (own, reply)
    };
    [
        Operation::of(generation, LIBRARY, || (), move |()| generate()),
        Operation::of(answer, LIBRARY, generate, move |own| group.encapsulate(own.share())),
        Operation::of(opening, LIBRARY, answered, |(own, reply)| own.decapsulate(&reply)),
    ]
}

pub fn certificates(server: &Server) -> Result<Vec<Operation>, Box<dyn Error>> {
    let scheme = server.keys.scheme();
    let proof = Proof::Signature {
        scheme,
        signed: server.signed.clone(),
        signature: server.signature.clone(),
    };
    let mut question = VerifyPeer::new(Role::Server, server.chain.clone(), proof);
    question.server_name = Some(NAME.to_owned());
    question.unix = Some(server.unix);
    let verifier = Arc::new(WebPkiVerifier::new(&[&server.root])?);
    let (of_both, of_proof) = (question.clone(), question);
    let (accepting, proving) = (verifier.clone(), verifier);
    let accepts = move || {
        assert!(matches!(accepting.verify(&of_both), Reply::Now(Ok(_))), "the peer is right");
    };
    let proves = move || assert!(proving.is_proof_right(&of_proof), "the proof is right");
    let key = SigningKey::from_pkcs8(&server.private_key)?;
    let message = server.signed.clone();
    let sign = move || key.sign(scheme, &message).expect("a signature");
    let name = |of: &str| format!("{} {of}", server.keys.name());
    Ok(vec![
        Operation::of(name("chain and CertificateVerify"), LIBRARY, || (), move |()| accepts()),
        Operation::of(name("CertificateVerify"), LIBRARY, || (), move |()| proves()),
        Operation::of(name("signature"), LIBRARY, || (), move |()| sign()),
    ])
}

pub fn tickets() -> Result<Vec<Operation>, Box<dyn Error>> {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let provider = tessera_aws_lc::provider();
    let ring = TicketKeyRing::new(&provider);
    let key = TicketKey::generate(&provider, unix, DAY, DAY).map_err(|_| "no random bytes")?;
    ring.install(vec![key], unix)?;
    let ring = Arc::new(ring);
    let session = session(unix)?;
    let ticket = ring.seal(&session, unix).ok_or("a ring with a key seals")?;
    let question = OpenTicket::new(ticket, Some(unix));
    let (sealing, opening) = (ring.clone(), ring);
    let open = move || match opening.open(&question) {
        Reply::Now(Some(session)) => session,
        _ => panic!("the ticket opens"),
    };
    Ok(vec![
        Operation::of("ticket sealing", LIBRARY, || (), move |()| sealing.seal(&session, unix)),
        Operation::of("ticket opening", LIBRARY, || (), move |()| open()),
    ])
}

fn session(unix: Duration) -> Result<SessionState, Box<dyn Error>> {
    Ok(SessionState {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        psk: Secret::from_slice(&[7; 32]).ok_or("a short secret")?,
        protocol: Some(b"h2".to_vec()),
        server_name: Some(NAME.into()),
        peer: None,
        accepted_by: None,
        external_psk: None,
        authenticated_at: unix.as_secs(),
        policy_epoch: 0,
        scope: Vec::new(),
        ancestry: Ancestry::PostQuantum,
        issued_at: unix.as_millis() as u64,
        lifetime: 3600,
        age_add: 99,
        max_early_data_size: 0,
        companion: None,
        carrier: Carrier::STREAM,
    })
}
