//! The key schedule of docs/kem-auth.md §5, without the engine's own; what the engine logs must be the same.

use tessera::crypto::Hash;
use tessera::wire::NamedGroup;
use tessera_harness::{Scene, expand_label, expand_label_to_hash};

use super::StaticKey;
use crate::Values;
use crate::make::found;

/// Appends all secrets of a connection whose keys and messages are known.
pub(super) fn derive(scene: &Scene, values: &mut Values, resumption_psk: &[u8]) {
    let hash = scene.suite().hash;
    let exchanged = key_exchange(values);
    let [server_secret, client_secret] = ["server", "client"].map(|prover| shared(values, prover));
    let zeros = vec![0; hash.len()];

    let mut added = vec![("key exchange", exchanged.clone())];
    let early = hash.extract(&zeros, &zeros);
    let handshake = next(hash, early.expose(), &exchanged);
    let hello = transcript(hash, values, "ServerHello");
    added.push(("handshake secret", handshake.clone()));
    for (name, label, logged) in [
        ("client handshake traffic secret", "c hs traffic", "CLIENT_HANDSHAKE_TRAFFIC_SECRET"),
        ("server handshake traffic secret", "s hs traffic", "SERVER_HANDSHAKE_TRAFFIC_SECRET"),
    ] {
        added.push((name, logged_too(scene, &handshake, label, &hello, logged)));
    }

    let server_secret = server_secret.expect("the server's key");
    let authenticated = next(hash, &handshake, &server_secret);
    let encapsulated = transcript(hash, values, "client KEMEncapsulation");
    added.push(("SSs", server_secret));
    added.push(("authenticated handshake secret", authenticated.clone()));
    for (name, label, logged) in [
        (
            "client authenticated handshake traffic secret",
            "c ahs traffic",
            "CLIENT_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET",
        ),
        (
            "server authenticated handshake traffic secret",
            "s ahs traffic",
            "SERVER_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET",
        ),
    ] {
        added.push((name, logged_too(scene, &authenticated, label, &encapsulated, logged)));
    }

    let master = next(hash, &authenticated, client_secret.as_ref().unwrap_or(&zeros));
    added.extend(client_secret.map(|secret| ("SSc", secret)));
    added.push(("master secret", master.clone()));
    for [finished, label, key_name, hash_name, before] in [
        [
            "client Finished",
            "client finished",
            "client finished key",
            "hash before client Finished",
            last_before_finished(values),
        ],
        [
            "server Finished",
            "server finished",
            "server finished key",
            "hash before server Finished",
            "client Finished",
        ],
    ] {
        let key = expand_label_to_hash(hash, &master, label, &[]);
        let covered = transcript(hash, values, before);
        assert_eq!(hash.hmac(&key, &covered).as_ref(), &found(values, finished)[4..], "{finished}");
        added.extend([(key_name, key), (hash_name, covered)]);
    }
    let [client, server] =
        ["client Finished", "server Finished"].map(|last| transcript(hash, values, last));
    for (name, label, covered, logged) in [
        ("client application traffic secret", "c ap traffic", &client, "CLIENT_TRAFFIC_SECRET_0"),
        ("server application traffic secret", "s ap traffic", &server, "SERVER_TRAFFIC_SECRET_0"),
        ("exporter master secret", "exp master", &server, "EXPORTER_SECRET"),
    ] {
        added.push((name, logged_too(scene, &master, label, covered, logged)));
    }
    let resumption = expand_label_to_hash(hash, &master, "res master", &server);
    let mut psk = vec![0; hash.len()];
    expand_label(hash, &resumption, "resumption", nonce(values), &mut psk);
    assert_eq!(psk, resumption_psk);
    added.extend([("resumption master secret", resumption), ("resumption PSK", psk)]);
    values.extend(added);
}

/// HKDF-Extract with the next input (RFC 8446 §7.1).
pub(super) fn next(hash: &dyn Hash, secret: &[u8], input: &[u8]) -> Vec<u8> {
    let salt = expand_label_to_hash(hash, secret, "derived", hash.hash(&[]).as_ref());
    hash.extract(&salt, input).expose().to_vec()
}

/// Derive-Secret, the result of which both ends have logged.
pub(super) fn logged_too(
    scene: &Scene,
    secret: &[u8],
    label: &str,
    transcript: &[u8],
    logged: &str,
) -> Vec<u8> {
    let derived = expand_label_to_hash(scene.suite().hash, secret, label, transcript);
    assert_eq!(scene.secrets.get(logged).as_ref(), Some(&derived), "{logged}");
    derived
}

/// The hash of ClientHello up to this message.
pub(super) fn transcript(hash: &dyn Hash, values: &Values, last: &str) -> Vec<u8> {
    let first = values.iter().position(|(name, _)| *name == "ClientHello").expect("a hello");
    let end = values.iter().position(|(name, _)| *name == last).expect("the message");
    let messages: Vec<_> = values[first..=end].iter().map(|(_, message)| &message[..]).collect();
    hash.hash(&messages.concat()).as_ref().to_vec()
}

/// The last message of authentication.
fn last_before_finished(values: &Values) -> &'static str {
    let is_mutual = values.iter().any(|(name, _)| *name == "server KEMEncapsulation");
    if is_mutual { "server KEMEncapsulation" } else { "client KEMEncapsulation" }
}

/// The secret of the key exchange: the server's share is the end of its only key share.
pub(super) fn key_exchange(values: &Values) -> Vec<u8> {
    let scalar = found(values, "client's ephemeral private key").try_into().expect("32 bytes");
    let hello = found(values, "ServerHello");
    let group = [&b"\0\x33\0\x24"[..], &NamedGroup::X25519.0.to_be_bytes(), &[0, 32]].concat();
    let at = hello.windows(group.len()).position(|it| it == group).expect("a key share");
    let share = &hello[at + group.len()..][..32];
    StaticKey::X25519(scalar).decapsulate(share).expect("a point").expose().to_vec()
}

/// What was encapsulated to the key of an end, if it has one.
fn shared(values: &Values, prover: &str) -> Option<Vec<u8>> {
    let [key, message] = match prover {
        "server" => ["server private key", "client KEMEncapsulation"],
        _ => ["client private key", "server KEMEncapsulation"],
    };
    let private = values.iter().find(|(name, _)| *name == key)?.1.as_slice();
    let key = match private.try_into() {
        Ok(scalar) => StaticKey::X25519(scalar),
        Err(_) => StaticKey::MlKem768(private.try_into().expect("a seed")),
    };
    let encapsulation = &found(values, message)[7..];
    Some(key.decapsulate(encapsulation).expect("decapsulates").expose().to_vec())
}

/// The ticket_nonce of the NewSessionTicket.
fn nonce(values: &Values) -> &[u8] {
    let ticket = &found(values, "NewSessionTicket")[4 + 8..];
    &ticket[1..=usize::from(ticket[0])]
}
