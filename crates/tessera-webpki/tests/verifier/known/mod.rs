//! Chains that are recognised.

mod dates;
mod hashes;
mod keys;
mod revocation;
mod roles;
mod store;

use rcgen::{CertifiedIssuer, KeyPair, SerialNumber, date_time_ymd};
use tessera::auth::{PeerIdentity, PeerRejected, VerifyPeer};
use tessera_webpki::{ChainStore, KnownChains, StoreBounds, WebPkiVerifier};

use crate::pki::{Ca, Peer, ca_params, judge, server_params};

fn store() -> ChainStore {
    store_of(StoreBounds::default())
}

fn store_of(bounds: StoreBounds) -> ChainStore {
    ChainStore::new(&tessera_aws_lc::provider(), bounds).unwrap()
}

fn trusting(root: &Ca, store: &ChainStore) -> KnownChains {
    KnownChains::new(WebPkiVerifier::new(&[root.der()]).unwrap(), store)
}

/// Makes an authority below a root, valid in the first half of 2030, with serial number 9.
fn intermediate(root: &Ca) -> Ca {
    let mut params = ca_params("intermediate");
    params.not_before = date_time_ymd(2030, 1, 1);
    params.not_after = date_time_ymd(2030, 6, 1);
    params.serial_number = Some(SerialNumber::from(9_u64));
    CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), root).unwrap()
}

/// Makes a server below an intermediate authority, with serial number 7.
fn server_below(issuer: &Ca) -> Peer {
    let mut peer = Peer::new(&server_params(), issuer);
    peer.chain.push(issuer.der().to_vec());
    peer
}

/// Judges, and returns whether the chain was known: (known, verdict).
fn ask(
    verifier: &KnownChains,
    store: &ChainStore,
    question: &VerifyPeer,
) -> (bool, Result<PeerIdentity, PeerRejected>) {
    let before = store.counts();
    let verdict = judge(verifier, question);
    let after = store.counts();
    (after.hits > before.hits, verdict)
}

#[track_caller]
fn assert_judged_whole(verifier: &KnownChains, store: &ChainStore, question: &VerifyPeer) {
    let (known, verdict) = ask(verifier, store, question);
    assert!(!known && verdict.is_ok(), "{known}, {verdict:?}");
}

#[track_caller]
fn assert_known(verifier: &KnownChains, store: &ChainStore, question: &VerifyPeer) {
    let (known, verdict) = ask(verifier, store, question);
    assert!(known && verdict.is_ok(), "{known}, {verdict:?}");
}

/// Checks that the peer is refused and nothing new remembered; `known` if the chain is known, but the proof
/// wrong.
#[track_caller]
fn assert_refused(
    verifier: &KnownChains,
    store: &ChainStore,
    question: &VerifyPeer,
    alert: tessera::wire::AlertDescription,
) {
    let entries = store.counts().entries;
    let (_, verdict) = ask(verifier, store, question);
    assert_eq!(verdict.as_ref().unwrap_err().alert, alert, "{verdict:?}");
    assert!(store.counts().entries <= entries, "a refusal is remembered");
}
