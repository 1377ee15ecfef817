//! A client that knows its server's static key (docs/kem-auth.md §9).

use tessera::Destination;
use tessera::auth::{PeerIdentity, PeerPublicKey};
use tessera::resume::{KnownServerKey, PskKind};
use tessera::wire::{CipherSuite, HandshakeType};
use tessera_harness::{Hello, Trace, at, binder, expand_label_to_hash, to};

use super::schedule::{key_exchange, logged_too, next, transcript};
use super::{CLIENT, ML_KEM, scene, sent};
use crate::Values;

pub(super) const SECTION: &str = "known server key, sha256";

/// The length of a key's id.
const ID: usize = 16;

/// Connects, with the encapsulation that is recorded, and returns everything.
pub(super) fn connect(recorded: Option<&Trace>) -> Values {
    let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
    let encapsulation = recorded.map(|vectors| &vectors.get(SECTION, "identity")[ID..]);
    let scene = scene(suite, &ML_KEM, encapsulation);
    let (hash, scheme, public) = (scene.suite().hash, ML_KEM.scheme(), ML_KEM.public_key());
    let known = KnownServerKey {
        public_key: PeerPublicKey::new(scheme, public.clone()),
        identity: PeerIdentity::default(),
    };
    let known_server_key = Some(Box::new(known));
    let mut pair = scene.start_to(Destination { known_server_key, ..to(None) }, at(0));
    pair.run();
    assert_eq!(pair.client.facts().psk, Some(PskKind::KnownKey));

    let find = |sent: &[(usize, Vec<u8>)], typ: HandshakeType| {
        let found = sent.iter().find(|(_, message)| message[0] == typ.0);
        found.map(|(_, message)| message.clone()).expect("the message")
    };
    let client = sent(&pair.client_sent, scene.client_sealers());
    let server = sent(&pair.server_sent, scene.server_sealers());
    let hello = find(&client, HandshakeType::CLIENT_HELLO);
    let mut parsed = Hello::read(&hello);
    let (identity, age) = parsed.identities().remove(0);
    let id = hash.hash(&[b"tessera known key 1", &scheme.0.to_be_bytes()[..], &public].concat());
    let id = id.as_ref()[..ID].to_vec();
    assert_eq!((&identity[..ID], age), (&id[..], 0));
    let shared = ML_KEM.decapsulate(&identity[ID..]).expect("decapsulates").expose().to_vec();
    let context = hash.hash(&identity);
    let extracted = hash.extract(&[], &shared);
    let psk = expand_label_to_hash(hash, extracted.expose(), "known key", context.as_ref());
    let [proof] = &parsed.binders()[..] else { unreachable!("one identity") };
    let covered = &hello[..hello.len() - 3 - proof.len()];
    assert_eq!(**proof, binder(hash, &psk, "ext binder", covered));

    let mut values = vec![
        ("suite", suite.0.to_be_bytes().to_vec()),
        ("server scheme", scheme.0.to_be_bytes().to_vec()),
        ("server private key", ML_KEM.private().to_vec()),
        ("client's ephemeral private key", CLIENT.to_vec()),
        ("id", id),
        ("identity", identity),
        ("SSs", shared),
        ("PSK", psk.clone()),
        ("ClientHello", hello),
        ("ServerHello", find(&server, HandshakeType::SERVER_HELLO)),
        ("EncryptedExtensions", find(&server, HandshakeType::ENCRYPTED_EXTENSIONS)),
    ];
    let hellos = transcript(hash, &values, "ServerHello");
    let covered = transcript(hash, &values, "EncryptedExtensions");
    let exchanged = key_exchange(&values);
    let handshake = next(hash, hash.extract(&[], &psk).expose(), &exchanged);
    let logged = "SERVER_HANDSHAKE_TRAFFIC_SECRET";
    let secret = logged_too(&scene, &handshake, "s hs traffic", &hellos, logged);
    let finished = find(&server, HandshakeType::FINISHED);
    let key = expand_label_to_hash(hash, &secret, "finished", &[]);
    assert_eq!(hash.hmac(&key, &covered).as_ref(), &finished[4..]);
    values.extend([
        ("key exchange", exchanged),
        ("handshake secret", handshake),
        ("server handshake traffic secret", secret),
        ("server Finished", finished),
    ]);
    values
}
