//! Random PKIs and chains, with real signatures: what this verifier accepts, webpki accepts, too.

use std::collections::BTreeMap;

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use tessera_harness::{Numbers, each_seed};
use tessera_pki::authority_params;

use crate::pki::{Both, Ca, NOT_AFTER, NOT_BEFORE, NOW, Peer, extension, judge, root_with, with};

/// Names of authorities and servers: few, so that they meet.
const AUTHORITIES: [&str; 4] = ["root", "a", "b", "c"];
const SERVERS: [&str; 6] =
    ["server.example", "*.example", "*.server.example", "a.server.example", "b.example", "example"];

fn usages(numbers: &mut Numbers) -> Vec<KeyUsagePurpose> {
    let all = [
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::KeyAgreement,
        KeyUsagePurpose::CrlSign,
    ];
    some(numbers, all, [60, 70])
}

fn purposes(numbers: &mut Numbers) -> Vec<ExtendedKeyUsagePurpose> {
    let all = [
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
        ExtendedKeyUsagePurpose::Any,
        ExtendedKeyUsagePurpose::CodeSigning,
    ];
    some(numbers, all, [40, 60])
}

/// Returns some of these, with the probability in percent that there are any, and that of each.
fn some<T>(numbers: &mut Numbers, all: [T; 4], [any, each]: [u64; 2]) -> Vec<T> {
    if !numbers.happens(any) {
        return Vec::new();
    }
    all.into_iter().filter(|_| numbers.happens(each)).collect()
}

/// Extensions as no tool writes them.
fn odd(numbers: &mut Numbers) -> Vec<CustomExtension> {
    let pick = |numbers: &mut Numbers| {
        let is_critical = numbers.happens(40);
        match numbers.below(7) {
            0 => extension(&[1, 3, 6, 1, 4, 1, 55555, 1], is_critical, &[5, 0]),
            1 => extension(&[2, 5, 29, 32], is_critical, &[0x30, 4, 0x30, 2, 6, 0]),
            // pathLenConstraint without cA; an explicit cA.
            2 => extension(&[2, 5, 29, 19], is_critical, &[0x30, 3, 2, 1, 0]),
            3 => extension(&[2, 5, 29, 19], is_critical, &[0x30, 6, 1, 1, 0xff, 2, 1, 1]),
            // Key usages of several bytes, of none, with unused bits.
            4 => extension(&[2, 5, 29, 15], is_critical, &[3, 3, 7, 0x80, 0x80]),
            5 => extension(&[2, 5, 29, 15], is_critical, &[3, 2, 1, 0x86]),
            _ => extension(&[2, 5, 29, 37], is_critical, &[0x30, 6, 6, 4, 0x55, 0x1d, 0x25, 0]),
        }
    };
    if numbers.happens(70) { Vec::new() } else { vec![pick(numbers)] }
}

fn change(numbers: &mut Numbers, params: &mut CertificateParams) {
    let year = if numbers.happens(80) { 2030 } else { 2032 };
    params.not_before = date_time_ymd(year, 1, 1);
    params.not_after = date_time_ymd(year + 1, 1, 1);
    params.is_ca = match numbers.below(10) {
        0 => IsCa::NoCa,
        1 => IsCa::ExplicitNoCa,
        2..=6 => IsCa::Ca(BasicConstraints::Unconstrained),
        _ => IsCa::Ca(BasicConstraints::Constrained(numbers.below(3) as u8)),
    };
    params.key_usages = usages(numbers);
    params.extended_key_usages = purposes(numbers);
    params.custom_extensions = odd(numbers);
    if numbers.happens(30) {
        let names = [SanType::DnsName("server.example".try_into().unwrap())];
        params.subject_alt_names = names.to_vec();
    }
}

fn leaf(numbers: &mut Numbers, issuer: &Ca) -> Peer {
    let names = SERVERS.iter().filter(|_| numbers.happens(40)).map(ToString::to_string);
    let mut params = CertificateParams::new(names.collect::<Vec<_>>()).unwrap();
    let ca = numbers.happens(10);
    change(numbers, &mut params);
    if !ca {
        params.is_ca = if numbers.happens(50) { IsCa::NoCa } else { IsCa::ExplicitNoCa };
    }
    if numbers.happens(20) {
        params.subject_alt_names.push(SanType::URI("urn:a".try_into().unwrap()));
    }
    if numbers.happens(30) {
        params.distinguished_name.push(rcgen::DnType::CommonName, *numbers.pick(&AUTHORITIES));
    }
    Peer::new(&params, issuer)
}

#[test]
fn fuzz_what_is_accepted_of_random_chains_is_accepted_by_webpki() {
    let (mut accepted, mut refused, mut alone) = (0, 0, 0);
    let mut lengths = BTreeMap::<usize, usize>::new();
    each_seed(60, |numbers| {
        let mut authorities: Vec<Ca> = Vec::new();
        for _ in 0..=numbers.below(2) {
            authorities.push(root_with(&rcgen::PKCS_ECDSA_P256_SHA256, |it| {
                if numbers.happens(30) {
                    it.key_usages = usages(numbers);
                }
            }));
        }
        let roots = authorities.len();
        for _ in 0..6 {
            let issuer = numbers.below(authorities.len());
            let name = *numbers.pick(&AUTHORITIES);
            let mut params = authority_params(name);
            change(numbers, &mut params);
            // Sometimes a new name for a key that has one.
            let key = match numbers.happens(20) {
                true => {
                    let other = numbers.pick(&authorities).key().serialize_der();
                    let algorithm = &rcgen::PKCS_ECDSA_P256_SHA256;
                    KeyPair::from_pkcs8_der_and_sign_algo(&other.into(), algorithm).unwrap()
                }
                false => KeyPair::generate().unwrap(),
            };
            let signed = Ca::signed_by(params, key, &authorities[issuer]).unwrap();
            authorities.push(signed);
        }
        let peers: Vec<_> = (0..6)
            .map(|_| {
                let issuer = numbers.below(authorities.len());
                leaf(numbers, &authorities[issuer])
            })
            .collect();
        let mut anchors: Vec<_> = authorities[..roots].iter().map(|it| it.der().to_vec()).collect();
        // A certificate of a peer or an authority may be an anchor, too.
        if numbers.happens(20) {
            anchors.push(numbers.pick(&peers).chain[0].clone());
        }
        if numbers.happens(20) {
            anchors.push(numbers.pick(&authorities).der().to_vec());
        }
        let readable =
            |der: &Vec<u8>| tessera_fixed_pki::Anchor::certificate(Vec::leak(der.clone())).is_ok();
        anchors.retain(readable);
        if anchors.is_empty() {
            return;
        }
        let both = Both::trusting(&anchors);
        for _ in 0..200 {
            let peer = numbers.pick(&peers);
            let question = match numbers.happens(70) {
                true => with(peer.as_server(), |it| {
                    it.server_name =
                        Some((*numbers.pick(&SERVERS)).trim_start_matches("*.").into());
                }),
                false => peer.as_client(),
            };
            let question = with(question, |it| {
                it.unix = Some(*numbers.pick(&[
                    NOW,
                    NOW,
                    NOW,
                    NOT_BEFORE - 1,
                    NOT_BEFORE,
                    NOT_AFTER,
                    NOT_AFTER + 1,
                ]));
                for _ in 0..numbers.below(6) {
                    let next = match numbers.happens(70) {
                        // The issuer, by its name, if there is one.
                        true => {
                            authorities.iter().filter(|_| numbers.happens(50)).find(|authority| {
                                let name = authority_name(authority.der());
                                issuer_name(it.chain.last().unwrap()) == name
                            })
                        }
                        false => Some(numbers.pick(&authorities)),
                    };
                    if let Some(next) = next {
                        it.chain.push(next.der().to_vec());
                    }
                }
            });
            match (judge(&both.fixed, &question), judge(&both.webpki, &question)) {
                (Ok(one), Ok(other)) => {
                    assert_eq!(one, other);
                    accepted += 1;
                    *lengths.entry(question.chain.len()).or_default() += 1;
                }
                (Ok(_), Err(rejected)) => {
                    panic!("webpki refuses: {}: {:x?}", rejected.reason, question.chain)
                }
                (Err(_), Ok(_)) => alone += 1,
                (Err(_), Err(_)) => refused += 1,
            }
        }
    });
    println!(
        "{accepted} accepted, {refused} refused by both, {alone} by this alone; lengths {lengths:?}"
    );
    assert!(accepted > 100 && lengths.keys().max() > Some(&2), "{accepted}, {lengths:?}");
}

/// The common name in the issuer, and in the subject: names here have no other part.
fn issuer_name(der: &[u8]) -> Vec<u8> {
    names(der).remove(0)
}

fn authority_name(der: &[u8]) -> Vec<u8> {
    names(der).remove(1)
}

fn names(der: &[u8]) -> Vec<Vec<u8>> {
    let id = [6, 3, 0x55, 4, 3];
    let at = der.windows(5).enumerate().filter(|(_, it)| **it == id).map(|(at, _)| at + 5);
    let mut names: Vec<_> =
        at.map(|at| der[at + 2..at + 2 + usize::from(der[at + 1])].to_vec()).collect();
    names.resize(2, Vec::new());
    names
}
