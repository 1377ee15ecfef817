//! The test vectors of docs/0rtt-fs.md: what they say is computed again, and their flights are
//! accepted.
//!
//! With TESSERA_WRITE_VECTORS set, the vectors are made anew.

use std::fmt::Write;
use std::path::PathBuf;

use tessera::crypto::{Hash, Suite};
use tessera::handshake::{EarlyDataStatus, Reply};
use tessera::resume::{
    FsClientTicket, OneTimeSecret, PutSecret, TakePurpose, TakeSecret, Taken, Vault, Verdict,
};
use tessera::wire::{CipherSuite, ContentType, NamedGroup};
use tessera_harness::{
    EARLY_DATA, Hello, Mode, Pair, Scene, Trace, at, binder, expand_label, expand_label_to_hash,
    plain, records, vec16,
};

const KINDS: [(&str, NamedGroup, Mode); 3] = [
    ("x25519", NamedGroup::X25519, Mode::FsDhe),
    ("x25519mlkem768", NamedGroup::X25519MLKEM768, Mode::FsDhe),
    ("one-time psk", NamedGroup::ONE_TIME_PSK, Mode::FsPsk),
];

const SUITE: CipherSuite = CipherSuite::TLS_AES_128_GCM_SHA256;

/// The server of the vectors: its tickets are not sealed.
fn scene(kind: NamedGroup, mode: Mode) -> Scene {
    let mut scene = Scene::new(tessera_aws_lc::provider(), mode);
    scene.client.suites = vec![SUITE];
    scene.server.suites = vec![SUITE];
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.kinds = vec![kind];
    }
    scene
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/0rtt-fs-vectors.txt")
}

#[test]
fn vectors() {
    if std::env::var_os("TESSERA_WRITE_VECTORS").is_some() {
        std::fs::write(path(), make()).expect("the file can be written");
    }
    let vectors = Trace::read(&std::fs::read_to_string(path()).expect("the file is there"));
    for (name, kind, mode) in KINDS {
        derivations(&vectors, name);
        flight(&vectors, name, kind, mode);
    }
}

/// Every value of §4 from those before it.
fn derivations(vectors: &Trace, section: &str) {
    let scene = scene(NamedGroup::X25519, Mode::FsDhe);
    let suite = scene.suite();
    let hash = suite.hash;
    let get = |name: &str| vectors.get(section, name);
    let label = "EXPORTER-tessera-0rttfs";
    let ticket = [
        get("kind"),
        get("id"),
        &vec16(get("public")),
        get("lifetime"),
        get("max_early_data_size"),
    ]
    .concat();
    assert_eq!(ticket, get("ForwardSecretTicket"));
    let exported = exporter(suite, get("exporter secret"), label, &ticket);
    assert_eq!(exported, [get("FS secret"), get("handle")].concat());

    let identity = [b"\xff\x5afs\x01", get("id"), &vec16(get("encapsulated"))].concat();
    assert_eq!(identity, get("identity"));
    let agreed = match scene.server.provider.one_time(kind_of(get("kind"))) {
        Some(keys) => {
            let key = keys.from_seed(get("seed")).expect("a seed");
            assert_eq!(key.public().expect("a key"), get("public"));
            key.open(get("encapsulated")).expect("opens").expose().to_vec()
        }
        None => Vec::new(),
    };
    assert_eq!(agreed, get("agreed secret"));
    let psk = psk_for_flight(hash, get, &identity, &agreed);
    assert_eq!(psk, get("psk'"));

    let hello = get("ClientHello");
    let mut parsed = Hello::read(hello);
    let binders: Vec<_> = parsed.binders().iter().map(|binder| binder.to_vec()).collect();
    let covered = &hello[..hello.len() - 2 - binders.iter().map(|b| 1 + b.len()).sum::<usize>()];
    assert_eq!(binders[0], binder(hash, &psk, "ext binder", covered));
    assert_eq!(binders[1], binder(hash, get("resumption PSK"), "res binder", covered));
    assert_eq!(parsed.identities()[0], (identity, 0));

    // §15.2: the same flight, as a client would send it that can offer one identity alone.
    let ticket = parsed.identities().remove(1).0;
    let (alone, psk) = alone(hash, get, &ticket, &agreed);
    assert_eq!(alone, get("lone identity"));
    assert_eq!(psk, get("lone psk'"));
}

/// The lone identity of a flight, and its psk'.
fn alone<'v>(
    hash: &dyn Hash,
    get: impl Fn(&str) -> &'v [u8],
    ticket: &[u8],
    agreed: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let (id, encapsulated) = (get("id"), vec16(get("encapsulated")));
    let covered = [b"\xff\x5afs\x02", id, &encapsulated, &vec16(ticket)].concat();
    let proof = binder(hash, get("resumption PSK"), "fs proof", &covered);
    let identity = [covered, proof].concat();
    let psk = psk_for_flight(hash, get, &identity, agreed);
    (identity, psk)
}

fn psk_for_flight<'v>(
    hash: &dyn Hash,
    get: impl Fn(&str) -> &'v [u8],
    identity: &[u8],
    agreed: &[u8],
) -> Vec<u8> {
    let extracted = hash.extract(get("FS secret"), agreed);
    let context = hash.hash(identity);
    expand_label_to_hash(hash, extracted.expose(), "0rttfs", context.as_ref())
}

/// A server that holds the secret accepts the flight, once.
fn flight(vectors: &Trace, section: &str, kind: NamedGroup, mode: Mode) {
    let scene = scene(kind, mode);
    let get = |name: &str| vectors.get(section, name);
    let secret = OneTimeSecret {
        kind,
        seed: get("seed").to_vec().into(),
        fs_secret: tessera::crypto::Secret::from_slice(get("FS secret")).expect("32 bytes"),
    };
    let unix = at(1).unix.expect("a clock");
    let put = PutSecret {
        id: get("handle").first_chunk().expect("32 bytes"),
        secret,
        expires_at: unix + std::time::Duration::from_secs(60),
        unix,
        client: None,
    };
    scene.vault.put(put).expect("there is room");

    let mut flight = plain(ContentType::HANDSHAKE, get("ClientHello"));
    flight.extend_from_slice(get("early data record"));
    let deliver = || {
        let mut pair = scene.start(None, at(1));
        pair.deliver_to_server(&flight);
        assert_eq!(pair.to_server.error, None);
        pair
    };
    let pair = deliver();
    assert_eq!(pair.to_server.early_data, EARLY_DATA);
    assert_eq!(pair.server.facts().one_time_key, Some(kind));
    let replayed = deliver();
    assert_eq!(replayed.to_server.early_data, b"");
    let used = EarlyDataStatus::Rejected(Verdict::Used);
    assert_eq!(replayed.server.facts().early_data, used);
}

fn kind_of(bytes: &[u8]) -> NamedGroup {
    NamedGroup(u16::from_be_bytes(*bytes.first_chunk().expect("two bytes")))
}

/// TLS-Exporter to 64 bytes (RFC 8446 §7.5).
fn exporter(suite: &Suite, secret: &[u8], label: &str, context: &[u8]) -> Vec<u8> {
    let empty = suite.hash.hash(&[]);
    let derived = expand_label_to_hash(suite.hash, secret, label, empty.as_ref());
    let mut out = vec![0; 64];
    let context = suite.hash.hash(context);
    expand_label(suite.hash, &derived, "exporter", context.as_ref(), &mut out);
    out
}

/// The ticket as it came, in its NewSessionTicket.
fn wire(ticket: &FsClientTicket) -> Vec<u8> {
    let FsClientTicket { kind, id, public, lifetime, max_early_data_size, .. } = ticket;
    let (lifetime, size) = (lifetime.to_be_bytes(), max_early_data_size.to_be_bytes());
    [&kind.0.to_be_bytes()[..], id, &vec16(public), &lifetime, &size].concat()
}

/// New vectors, from connections.
fn make() -> String {
    let mut text = String::from(
        "# Test vectors of forward-secret 0-RTT (0rtt-fs.md). Made and checked by\n\
         # crates/tessera/tests/vectors.rs. The suite is TLS_AES_128_GCM_SHA256.\n",
    );
    for (name, kind, mode) in KINDS {
        let scene = scene(kind, mode);
        let session = scene.session().expect("a session");
        let exporter_secret = scene.secrets.get("EXPORTER_SECRET").expect("of the connection");
        let ticket = session.forward_secret.as_ref().expect("a ticket");
        let question = TakeSecret {
            id: ticket.handle.0,
            purpose: TakePurpose::Accept,
            incarnation: None,
            unix: at(0).unix,
        };
        let Reply::Now(Taken::Taken(secret)) = scene.vault.take(&question) else {
            unreachable!("it was put")
        };
        let values = [
            ("kind", kind.0.to_be_bytes().to_vec()),
            ("exporter secret", exporter_secret),
            ("id", ticket.id.to_vec()),
            ("lifetime", ticket.lifetime.to_be_bytes().to_vec()),
            ("max_early_data_size", ticket.max_early_data_size.to_be_bytes().to_vec()),
            ("ForwardSecretTicket", wire(ticket)),
            ("FS secret", ticket.secret.expose().to_vec()),
            ("handle", ticket.handle.0.to_vec()),
            ("seed", secret.seed.to_vec()),
            ("public", ticket.public.clone()),
        ];
        let resumption = session.state.psk.expose().to_vec();
        let fs_secret = ticket.secret.expose().to_vec();
        let mut pair: Pair = scene.start(Some(session), at(0));
        let flight = pair.intercept_client();
        let sent = records(&flight);
        let hello = &sent[0][5..];
        let identity = Hello::read(hello).identities().remove(0).0;
        let encapsulated = identity[5 + 32 + 2..].to_vec();
        let keys = scene.server.provider.one_time(kind);
        let agreed = keys.map_or(Vec::new(), |keys| {
            let key = keys.from_seed(&secret.seed).expect("a seed");
            key.open(&encapsulated).expect("opens").expose().to_vec()
        });
        let hash = scene.suite().hash;
        let extracted = hash.extract(&fs_secret, &agreed);
        let context = hash.hash(&identity);
        let psk = expand_label_to_hash(hash, extracted.expose(), "0rttfs", context.as_ref());
        let flight = [
            ("encapsulated", encapsulated),
            ("agreed secret", agreed),
            ("identity", identity),
            ("psk'", psk),
            ("resumption PSK", resumption),
            ("ClientHello", hello.to_vec()),
            ("early data record", sent.last().expect("early data").clone()),
        ];
        writeln!(text, "\n[{name}]").expect("a string");
        let mut values: Vec<_> = values.into_iter().chain(flight).collect();
        let ticket = Hello::read(hello).identities().remove(1).0;
        let get = |name: &str| {
            let found = values.iter().find(|(listed, _)| *listed == name);
            found.map_or(&[][..], |(_, value)| value.as_slice())
        };
        let (identity, psk) = alone(hash, get, &ticket, get("agreed secret"));
        values.extend([("lone identity", identity), ("lone psk'", psk)]);
        for (name, value) in values {
            let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "{name} = {hex}").expect("a string");
        }
    }
    text
}
