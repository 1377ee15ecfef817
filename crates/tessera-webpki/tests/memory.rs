//! The memory of an entry of the known chains.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "verifier/pki.rs"]
#[allow(dead_code, reason = "the helpers of the other tests")]
mod pki;

use rcgen::{CertifiedIssuer, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256};
use tessera::auth::VerifyPeer;
use tessera::wire::SignatureScheme;
use tessera_webpki::{ChainStore, KnownChains, StoreBounds, WebPkiVerifier};

use pki::{Peer, ca_params, client_params, judge, root, server_params, with};

/// Returns the bytes per entry, measured and as counted by the store, for this many chains with two
/// certificates each.
fn per_entry(entries: usize, rsa: bool, client: Option<&str>) -> (f64, f64) {
    let root = root("root");
    // Certificates are reused for many names, and keys for many certificates, because RSA keys are slow to
    // make.
    let key = KeyPair::generate_for(if rsa { &PKCS_RSA_SHA256 } else { &PKCS_ECDSA_P256_SHA256 });
    let mut leaf = Peer { key: key.unwrap(), chain: Vec::new() };
    let issuer =
        CertifiedIssuer::signed_by(ca_params("below"), KeyPair::generate().unwrap(), &root)
            .unwrap();
    let scheme = match rsa {
        true => SignatureScheme::RSA_PSS_RSAE_SHA256,
        false => SignatureScheme::ECDSA_SECP256R1_SHA256,
    };
    let mut params = client.map_or_else(server_params, |name| client_params(&[name]));
    leaf.chain = vec![Vec::new(), issuer.der().to_vec()];
    let signed = leaf.as_server_with(scheme);
    let questions: Vec<VerifyPeer> = (0..entries)
        .map(|number| {
            params.serial_number = Some(rcgen::SerialNumber::from(number as u64 + 1));
            let der = params.signed_by(&leaf.key, &issuer).unwrap().der().to_vec();
            with(signed.clone(), |it| {
                it.chain[0] = der;
                if client.is_some() {
                    (it.peer, it.server_name) = (tessera::Role::Client, None);
                }
            })
        })
        .collect();

    let verifier = WebPkiVerifier::new(&[root.der()]).unwrap();
    // What the library keeps for each thread belongs to no entry.
    assert!(judge(&verifier, &questions[0]).is_ok());
    let bounds = StoreBounds { entries, bytes: usize::MAX };
    let store = ChainStore::new(&tessera_aws_lc::provider(), bounds).unwrap();
    let verifier = KnownChains::new(verifier, &store);
    let taken = allocation_counter::measure(|| {
        for question in &questions {
            assert!(judge(&verifier, question).is_ok());
        }
    });
    let taken = taken.bytes_current as f64 / entries as f64;
    assert_eq!(store.counts().entries, entries);
    (taken, store.counts().bytes as f64 / entries as f64)
}

/// Table and index included, without what an allocator adds. The keys are all the same, which entries don't
/// exploit.
#[test]
fn a_known_chain_takes_few_bytes() {
    let [short, long] = [Some("client.example"), Some("client-0123456789.example")];
    for (rsa, client, most) in [
        (false, None, 136.0),
        (false, short, 150.0),
        (false, long, 160.0),
        (true, None, 330.0),
        (true, short, 345.0),
    ] {
        for entries in [64, 500, if rsa { 1000 } else { 4096 }] {
            let (taken, counted) = per_entry(entries, rsa, client);
            let kind = if rsa { "RSA-2048" } else { "P-256" };
            let of = client.map_or("a server".to_owned(), |name| format!("the client {name}"));
            eprintln!(
                "{kind}, {of}, {entries} chains: {taken:.0} bytes each, {counted:.0} counted"
            );
            assert!(taken <= most, "{kind}, {of}, {entries} chains: {taken} bytes each");
            let apart = (counted - taken).abs();
            assert!(apart <= 8.0, "counted {counted}, taken {taken}");
        }
    }
}
