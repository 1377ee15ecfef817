//! The flights of the vectors, against a server that holds their secrets.

use std::time::Duration;

use tessera::crypto::KeyForm;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::{FlightHandle, OneTimeSecret, PutSecret, Vault, Verdict};
use tessera::wire::ContentType;
use tessera_harness::{EARLY_DATA, Mode, Pair, Scene, Trace, at, plain, records};

use crate::Case;
use crate::answers::EncryptedExtensions;

/// Checks that a server with the secret answers a section's flight as the vectors do, and accepts it once.
pub(crate) fn check(case: &Case, vectors: &Trace) {
    let scene = case.at_the_flight(case.scene());
    let get = |name: &str| vectors.get(case.section, name);
    put_secret(&scene, case, vectors);
    let hello = plain(ContentType::HANDSHAKE, get("ClientHello"));
    assert_eq!(get("early data"), EARLY_DATA);
    if case.retries {
        let first = plain(ContentType::HANDSHAKE, get("first ClientHello"));
        let mut pair = deliver(&scene, &[&first, get("early data record")].concat());
        let retry = records(&pair.intercept_server()).remove(0);
        assert_eq!(&retry[5..], get("HelloRetryRequest"));
        pair.deliver_to_server(&hello);
        assert_eq!(pair.to_server.error, None);
        assert_answered(&scene, &mut pair, get("EncryptedExtensions"), Verdict::Burned);
        return;
    }
    let flight = [&hello, get("early data record")].concat();
    let mut pair = deliver(&scene, &flight);
    assert_eq!(pair.to_server.early_data, EARLY_DATA);
    let facts = pair.server.facts();
    assert_eq!(facts.one_time_key, Some(case.kind));
    assert_eq!(facts.group.is_some(), case.mode == Mode::FsDhe, "the continuation");
    let answer = EncryptedExtensions::of(&scene, &pair.intercept_server());
    assert_eq!(answer.0, get("EncryptedExtensions"));

    let mut replayed = deliver(&scene, &flight);
    let used = vectors.get("verdicts", "used");
    assert_answered(&scene, &mut replayed, used, Verdict::Used);
}

/// Asserts that the early data was refused with this verdict, and in these bytes.
fn assert_answered(scene: &Scene, pair: &mut Pair, expected: &[u8], verdict: Verdict) {
    assert_eq!(pair.to_server.early_data, b"");
    assert_eq!(pair.server.facts().early_data, EarlyDataStatus::Rejected(verdict));
    assert_eq!(EncryptedExtensions::of(scene, &pair.intercept_server()).0, expected);
}

fn deliver(scene: &Scene, flight: &[u8]) -> Pair {
    let mut pair = scene.start(None, at(1));
    pair.deliver_to_server(flight);
    assert_eq!(pair.to_server.error, None);
    pair
}

/// Puts the one-time secret of a section into the scene's vault.
pub(crate) fn put_secret(scene: &Scene, case: &Case, vectors: &Trace) {
    let get = |name: &str| vectors.get(case.section, name);
    let secret = OneTimeSecret {
        kind: case.kind,
        form: KeyForm::Seed,
        key: get("seed").to_vec().into(),
        fs_secret: tessera::crypto::Secret::from_slice(get("FS secret")).expect("a hash"),
    };
    let handle = get("handle").first_chunk().expect("32 bytes");
    put(scene, FlightHandle(*handle), secret);
}

/// Puts a secret into the scene's vault, for a minute.
pub(crate) fn put(scene: &Scene, handle: FlightHandle, secret: OneTimeSecret) {
    let unix = at(1).unix.expect("a clock");
    let expires_at = unix + Duration::from_secs(60);
    scene.vault.put(PutSecret::new(handle, secret, expires_at, unix)).expect("there is room");
}
