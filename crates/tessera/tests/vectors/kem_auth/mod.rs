//! KEM authentication (docs/kem-auth.md): connections that are the same each time, and every value behind them.

mod keys;
mod known_key;
mod schedule;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use tessera::auth::{
    AskedKey, Credential, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected, PeerVerifier,
    PrivateKey, VerifierPolicy, VerifyPeer,
};
use tessera::crypto::Provider;
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::wire::{CertificateType, CipherSuite, HandshakeType, NamedGroup, SignatureScheme};
use tessera_harness::{Mode, Scene, Sealer, Trace, at, messages, open_all};

use crate::Values;
use keys::{FixedX25519, RecordedMlKem, Repeated, StaticKey, WithPublicKey};

/// A connection.
struct Case {
    section: &'static str,
    suite: CipherSuite,
    server: StaticKey,
    client: Option<StaticKey>,
}

const X25519: StaticKey = StaticKey::X25519([0x50; 32]);
const ML_KEM: StaticKey = StaticKey::MlKem768([0x51; 64]);

const CASES: [Case; 3] = [
    Case {
        section: "server-only, sha256",
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        server: ML_KEM,
        client: None,
    },
    Case {
        section: "mutual, sha256",
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        server: X25519,
        client: Some(ML_KEM),
    },
    Case {
        section: "mutual, sha384",
        suite: CipherSuite::TLS_AES_256_GCM_SHA384,
        server: ML_KEM,
        client: Some(X25519),
    },
];

#[test]
fn the_vectors_of_kem_authentication_are_reproduced() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/kem-auth-vectors.txt");
    if std::env::var_os("TESSERA_WRITE_VECTORS").is_some() {
        std::fs::write(&path, text()).expect("the file can be written");
    }
    let vectors = Trace::read(&std::fs::read_to_string(&path).expect("the file is there"));
    for (section, made) in connect_all(Some(&vectors)) {
        let listed = vectors.section(section).count();
        assert_eq!(listed, made.len(), "{section}");
        for (name, value) in made {
            assert_eq!(vectors.get(section, name), value, "{section}, {name}");
        }
    }
}

/// The whole file, made again.
fn text() -> String {
    let mut text = String::from(
        "# Test vectors of KEM authentication (kem-auth.md, section 13). Made and checked by\n\
         # crates/tessera/tests/vectors, and checked by conformance/vectors/check, which shares no code.\n",
    );
    for (section, values) in connect_all(None) {
        writeln!(text, "\n[{section}]").expect("a string");
        for (name, value) in values {
            let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "{name} = {hex}").expect("a string");
        }
    }
    text
}

/// All sections, with encapsulations of ML-KEM as they are recorded.
fn connect_all(recorded: Option<&Trace>) -> Vec<(&'static str, Values)> {
    let mut sections: Vec<_> =
        CASES.iter().map(|case| (case.section, case.connect(recorded))).collect();
    sections.push((known_key::SECTION, known_key::connect(recorded)));
    sections
}

impl Case {
    fn connect(&self, recorded: Option<&Trace>) -> Values {
        let recorded = |name| {
            let message = recorded.map(|vectors| vectors.get(self.section, name));
            // A header of four bytes, an empty context, and a length.
            message.map(|message| &message[7..])
        };
        let to_server = recorded("client KEMEncapsulation");
        let mut scene = scene(self.suite, &self.server, to_server);
        if let Some(key) = &self.client {
            scene.client.credentials = vec![key.credential()];
            scene.server.client_authentication = ClientAuthentication::Required(Arc::new(RawKeys));
            let to_client = recorded("server KEMEncapsulation");
            fix(&mut scene.server.provider, SERVER, key, to_client);
        }
        let mut pair = scene.start(None, at(0));
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        let resumption_psk = pair.to_client.sessions.pop().expect("a session").state.psk;
        let from_client = sent(&pair.client_sent, scene.client_sealers());
        let from_server = sent(&pair.server_sent, scene.server_sealers());
        let mut values = self.given();
        values.extend(transcript(&from_client, &from_server, self.client.is_some()));
        schedule::derive(&scene, &mut values, resumption_psk.expose());
        values
    }

    /// What is given, except for messages.
    fn given(&self) -> Values {
        let mut values = vec![("suite", self.suite.0.to_be_bytes().to_vec())];
        values.push(("server scheme", self.server.scheme().0.to_be_bytes().to_vec()));
        values.push(("server private key", self.server.private().to_vec()));
        if let Some(client) = &self.client {
            values.push(("client scheme", client.scheme().0.to_be_bytes().to_vec()));
            values.push(("client private key", client.private().to_vec()));
        }
        values.push(("client's ephemeral private key", CLIENT.to_vec()));
        values
    }
}

/// Ephemeral private keys, of the key exchange.
const CLIENT: [u8; 32] = [0x40; 32];
const SERVER: [u8; 32] = [0x41; 32];

/// Both ends, for a server with this key, to which the client encapsulates as recorded.
fn scene(suite: CipherSuite, server: &StaticKey, recorded: Option<&[u8]>) -> Scene {
    let mut scene = Scene::new(tessera_aws_lc::provider(), Mode::Full);
    scene.client.suites = vec![suite];
    scene.server.suites = vec![suite];
    scene.client.groups = vec![NamedGroup::X25519];
    scene.server.groups = vec![NamedGroup::X25519];
    scene.client.verifier = Arc::new(RawKeys);
    scene.server.credentials = vec![server.credential()];
    fix(&mut scene.client.provider, CLIENT, server, recorded);
    fix(&mut scene.server.provider, SERVER, server, None);
    scene
}

/// Replaces what a provider draws at random; `recorded` is encapsulated to the peer's key.
fn fix(provider: &mut Provider, ephemeral: [u8; 32], peer: &StaticKey, recorded: Option<&[u8]>) {
    provider.random = Box::leak(Box::new(Repeated::new(ephemeral[0])));
    provider.groups = Vec::leak(vec![FixedX25519::leak(ephemeral)]);
    let to_x25519 = FixedX25519::leak([ephemeral[0] | 0x20; 32]);
    let to_ml_kem = RecordedMlKem::leak(peer, recorded);
    provider.kems = Vec::leak(vec![to_x25519, to_ml_kem]);
}

/// Accepts every raw public key of the two KEMs.
struct RawKeys;

impl PeerVerifier for RawKeys {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::KEM_MLKEM768, SignatureScheme::KEM_X25519]
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::MLDSA65]
    }

    fn certificate_types(&self) -> &[CertificateType] {
        &[CertificateType::RAW_PUBLIC_KEY]
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        keys::read(&asked.chain[0]).map(|(scheme, _)| scheme)
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: any raw public key")
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let (scheme, key) = keys::read(&question.chain[0]).expect("a key of a KEM");
        let key = PeerPublicKey::new(scheme, key.to_vec());
        Reply::Now(Ok(PeerAcceptance::with_public_key(PeerIdentity::default(), key)))
    }
}

impl StaticKey {
    fn credential(&self) -> Credential {
        let key = PrivateKey::Decapsulates(Arc::new(WithPublicKey::new(self)));
        Credential::raw_public_key(self.public_key_info(), key)
    }
}

/// The handshake messages of a direction: its number of the keys, and the message.
fn sent(stream: &[u8], mut sealers: Vec<Sealer>) -> Vec<(usize, Vec<u8>)> {
    let opened = open_all(stream, &mut sealers).into_iter();
    opened
        .filter(|(_, typ, _)| *typ == tessera::wire::ContentType::HANDSHAKE)
        .flat_map(|(keys, _, content)| messages(&content).into_iter().map(move |it| (keys, it)))
        .collect()
}

/// Names the messages; each came under the keys that docs/kem-auth.md §4 demands.
fn transcript(client: &[(usize, Vec<u8>)], server: &[(usize, Vec<u8>)], is_mutual: bool) -> Values {
    const PLAIN: usize = 0;
    const HANDSHAKE: usize = 1;
    const AUTHENTICATED: usize = 2;
    const APPLICATION: usize = 3;
    let find = |sent: &[(usize, Vec<u8>)], keys, typ: HandshakeType| {
        let found = sent.iter().rfind(|(under, message)| (*under, message[0]) == (keys, typ.0));
        found.map(|(_, message)| message.clone()).expect("the message, under these keys")
    };
    let mut values = vec![
        ("ClientHello", find(client, PLAIN, HandshakeType::CLIENT_HELLO)),
        ("ServerHello", find(server, PLAIN, HandshakeType::SERVER_HELLO)),
        ("EncryptedExtensions", find(server, HANDSHAKE, HandshakeType::ENCRYPTED_EXTENSIONS)),
    ];
    if is_mutual {
        let request = find(server, HANDSHAKE, HandshakeType::CERTIFICATE_REQUEST);
        values.push(("CertificateRequest", request));
    }
    values.extend([
        ("server Certificate", find(server, HANDSHAKE, HandshakeType::CERTIFICATE)),
        ("client KEMEncapsulation", find(client, HANDSHAKE, HandshakeType::KEM_ENCAPSULATION)),
    ]);
    if is_mutual {
        let encapsulation = find(server, AUTHENTICATED, HandshakeType::KEM_ENCAPSULATION);
        values.extend([
            ("client Certificate", find(client, AUTHENTICATED, HandshakeType::CERTIFICATE)),
            ("server KEMEncapsulation", encapsulation),
        ]);
    }
    values.extend([
        ("client Finished", find(client, AUTHENTICATED, HandshakeType::FINISHED)),
        ("server Finished", find(server, AUTHENTICATED, HandshakeType::FINISHED)),
    ]);
    let in_handshake = client.len() + server.iter().filter(|it| it.0 < APPLICATION).count();
    assert_eq!(in_handshake, values.len(), "no other messages");
    let ticket = find(server, APPLICATION, HandshakeType::NEW_SESSION_TICKET);
    values.push(("NewSessionTicket", ticket));
    values
}
