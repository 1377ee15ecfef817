//! Public keys of KEMs in certificates (RFC 9935, RFC 8410).

use tessera::auth::{PeerVerifier, Proof};
use tessera::wire::{AlertDescription, SignatureScheme};

use super::{ALL, KemPeer, asked, trusting};
use crate::pki::{judge, refused, root, server_params, with};

#[test]
fn a_key_of_another_kem_is_refused() {
    let root = root("root");
    let verifier = trusting(&root);
    for scheme in ALL {
        let server = KemPeer::new(&server_params(), scheme, &root);
        for other in ALL.into_iter().filter(|other| *other != scheme) {
            let question = with(server.as_server(), |it| it.proof = Proof::Kem { scheme: other });
            refused(&verifier, &question, AlertDescription::UNSUPPORTED_CERTIFICATE);
        }
    }
}

/// The engine refuses it before it asks (docs/kem-auth.md §6): it must learn which KEM it is.
#[test]
fn a_key_of_a_kem_that_was_not_offered_is_named_and_refused() {
    let root = root("root");
    let some = crate::pki::trusting(&root).accepting_kems(&[SignatureScheme::KEM_MLKEM512]);
    for verifier in [crate::pki::trusting(&root), some.unwrap()] {
        let server = KemPeer::new(&server_params(), SignatureScheme::KEM_MLKEM768, &root);
        let question = server.as_server();
        assert_eq!(verifier.kem_scheme(&asked(&question)), Some(server.scheme()));
        refused(&verifier, &question, AlertDescription::UNSUPPORTED_CERTIFICATE);
    }
}

fn sequence(contents: &[u8]) -> Vec<u8> {
    let len = (contents.len() as u16).to_be_bytes();
    [&[0x30, 0x82], &len[..], contents].concat()
}

/// Parameters, another identifier that begins alike, unused bits, and more fields.
#[test]
fn a_malformed_key_is_refused() {
    let root = root("root");
    let verifier = trusting(&root);
    let params = server_params();
    for (scheme, oid) in [
        (SignatureScheme::KEM_MLKEM768, &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 4, 2][..]),
        (SignatureScheme::KEM_X25519, &[6, 3, 0x2b, 0x65, 0x6e]),
    ] {
        let peer = || KemPeer::new(&params, scheme, &root);
        let key = peer().key.public_key().to_vec();
        let info = |algorithm: &[u8], bits: &[u8], after: &[u8]| {
            let algorithm = [&[0x30, algorithm.len() as u8], algorithm].concat();
            let len = (bits.len() as u16).to_be_bytes();
            let key = match bits.len() {
                0..128 => [&[3, bits.len() as u8], bits].concat(),
                _ => [&[3, 0x82], &len[..], bits].concat(),
            };
            let contents = [&algorithm[..], &key, after].concat();
            match contents.len() {
                0..128 => [&[0x30, contents.len() as u8], &contents[..]].concat(),
                _ => sequence(&contents),
            }
        };
        let whole = [&[0], &key[..]].concat();
        let good = peer().showing(&info(oid, &whole, &[]), &params, &root);
        assert!(judge(&verifier, &good.as_server()).is_ok());

        let with_null = [oid, &[5, 0]].concat();
        let unused_bit = [&[1], &key[..key.len() - 1], &[0]].concat();
        for (info, is_named) in [
            (info(&with_null, &whole, &[]), true),
            (info(oid, &unused_bit, &[]), true),
            (info(oid, &whole, &[5, 0]), false),
        ] {
            let question = peer().showing(&info, &params, &root).as_server();
            let named = verifier.kem_scheme(&asked(&question));
            assert_eq!(named, is_named.then_some(scheme));
            refused(&verifier, &question, AlertDescription::BAD_CERTIFICATE);
        }
        let mut longer = [oid, &[1]].concat();
        longer[1] += 1;
        let question = peer().showing(&info(&longer, &whole, &[]), &params, &root).as_server();
        assert_eq!(verifier.kem_scheme(&asked(&question)), None);
        refused(&verifier, &question, AlertDescription::UNSUPPORTED_CERTIFICATE);
    }
}

#[test]
fn garbage_names_no_kem() {
    let verifier = trusting(&root("root"));
    let server = KemPeer::new(&server_params(), SignatureScheme::KEM_MLKEM768, &root("root"));
    for chain in [vec![], vec![vec![]], vec![b"garbage".to_vec()]] {
        let question = with(server.as_server(), |it| it.chain = chain.clone());
        assert_eq!(verifier.kem_scheme(&asked(&question)), None);
        assert_eq!(
            verifier.kem_scheme(&asked(&with(server.raw(question), |it| it.chain = chain))),
            None
        );
    }
}
