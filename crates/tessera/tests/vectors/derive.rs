//! Computes every value of section 4 of docs/0rtt-fs.md from the preceding ones.

use tessera::crypto::Hash;
use tessera::wire::HandshakeType;
use tessera_harness::{Hello, Trace, binder, expand_label, expand_label_to_hash, message, vec16};

use crate::Case;

/// Checks a section of the vectors, without the engine's own derivations.
pub(crate) fn check(case: &Case, vectors: &Trace) {
    let scene = case.scene();
    let hash = scene.suite().hash;
    let get = |name: &str| vectors.get(case.section, name);
    assert_eq!(get("kind"), case.kind.0.to_be_bytes());
    assert_eq!(get("suite"), case.suite.0.to_be_bytes());
    let ticket = ticket(case, vectors);
    let exported = exporter(hash, get("exporter secret"), "EXPORTER-tessera-0rttfs", &ticket);
    assert_eq!(exported, [get("FS secret"), get("handle")].concat());

    let identity = [b"\xff\x5afs\x01", get("id"), &vec16(get("encapsulated"))].concat();
    assert_eq!(identity, get("identity"));
    let agreed = match scene.server.provider.one_time(case.kind) {
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
    let covered = [&before(hash, case, vectors), covered].concat();
    assert_eq!(binders[0], binder(hash, &psk, "ext binder", &covered));
    assert_eq!(binders[1], binder(hash, get("resumption PSK"), "res binder", &covered));
    assert_eq!(parsed.identities()[0], (identity, 0));
    let [binder_key, early_traffic] = early_secrets(hash, &psk, first_hello(case, vectors));
    assert_eq!(binder_key, get("binder key"));
    assert_eq!(early_traffic, get("early traffic secret"));

    // §15.2: the same flight from a client that can offer only one identity.
    let ticket = parsed.identities().remove(1).0;
    let (alone, psk) = alone(hash, get, &ticket, &agreed);
    assert_eq!(alone, get("lone identity"));
    assert_eq!(psk, get("lone psk'"));
}

/// The NewSessionTicket's statement about the one-time key.
fn ticket(case: &Case, vectors: &Trace) -> Vec<u8> {
    let get = |name: &str| vectors.get(case.section, name);
    let (lifetime, max_early_data_size) = (3600_u32, 16 * 1024_u32);
    let ticket = [
        get("kind"),
        get("id"),
        &vec16(get("public")),
        &lifetime.to_be_bytes(),
        &max_early_data_size.to_be_bytes(),
    ]
    .concat();
    let extension = [b"\xff\x5a", &vec16(&ticket)[..]].concat();
    let sealed = Hello::read(get("ClientHello")).identities().remove(1).0;
    let end = [vec16(&sealed), vec16(&extension)].concat();
    assert!(get("NewSessionTicket").ends_with(&end), "and nothing replayable");
    ticket
}

/// The transcript before the ClientHello (RFC 8446 §4.4.1).
fn before(hash: &dyn Hash, case: &Case, vectors: &Trace) -> Vec<u8> {
    if !case.retries {
        return Vec::new();
    }
    let first = hash.hash(first_hello(case, vectors));
    let retry = vectors.get(case.section, "HelloRetryRequest");
    [&message(HandshakeType::MESSAGE_HASH, first.as_ref())[..], retry].concat()
}

/// The ClientHello with which the early data was sent.
fn first_hello<'v>(case: &Case, vectors: &'v Trace) -> &'v [u8] {
    vectors.get(case.section, if case.retries { "first ClientHello" } else { "ClientHello" })
}

/// The binder key of psk', and the secret of the early data that came with this ClientHello.
pub(crate) fn early_secrets(hash: &dyn Hash, psk: &[u8], hello: &[u8]) -> [Vec<u8>; 2] {
    let early = hash.extract(&[], psk);
    [("ext binder", &[][..]), ("c e traffic", hello)].map(|(label, transcript)| {
        let transcript = hash.hash(transcript);
        expand_label_to_hash(hash, early.expose(), label, transcript.as_ref())
    })
}

/// The lone identity of a flight, and its psk'.
pub(crate) fn alone<'v>(
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

/// psk' (§4.3).
pub(crate) fn psk_for_flight<'v>(
    hash: &dyn Hash,
    get: impl Fn(&str) -> &'v [u8],
    identity: &[u8],
    agreed: &[u8],
) -> Vec<u8> {
    let extracted = hash.extract(get("FS secret"), agreed);
    let context = hash.hash(identity);
    expand_label_to_hash(hash, extracted.expose(), "0rttfs", context.as_ref())
}

/// TLS-Exporter to an FS secret and a handle (RFC 8446 §7.5).
fn exporter(hash: &dyn Hash, secret: &[u8], label: &str, context: &[u8]) -> Vec<u8> {
    let empty = hash.hash(&[]);
    let derived = expand_label_to_hash(hash, secret, label, empty.as_ref());
    let mut out = vec![0; hash.len() + 32];
    let context = hash.hash(context);
    expand_label(hash, &derived, "exporter", context.as_ref(), &mut out);
    out
}
