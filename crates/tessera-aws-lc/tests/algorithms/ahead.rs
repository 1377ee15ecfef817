//! Key pairs made ahead: as good as others, and used once.

use std::collections::HashSet;

use tessera::crypto::{KeyForm, Provider};
use tessera::wire::NamedGroup;
use tessera_aws_lc::{FillStep, KeyCounts, KeyKind, KeysAhead, provider, provider_with_keys_ahead};

const GROUPS: [NamedGroup; 3] =
    [NamedGroup::X25519MLKEM768, NamedGroup::X25519, NamedGroup::MLKEM768];

/// One test, since a process has one set of them.
#[test]
fn keys_made_ahead_are_used_once_and_agree_with_the_others() {
    let (ahead, keys) = provider_with_keys_ahead();
    let mut counts = KeyCounts::of_server(4);
    counts.ml_kem_768 = 4;
    assert_eq!(keys.counts(), KeyCounts::NONE);
    assert_eq!(keys.kinds_in_use(4), KeyCounts::NONE, "before any handshake");
    for made in 0..16 {
        let there: usize = KeyKind::ALL.iter().map(|kind| keys.counts().of(*kind)).sum();
        assert_eq!(there, made, "each step makes one");
        assert_eq!(keys.fill(counts), FillStep::Made);
    }
    assert_eq!((keys.fill(counts), keys.counts()), (FillStep::Full, counts));

    for group in GROUPS {
        let group = ahead.group(group).expect("the provider has it");
        for len in [0, 7, group.share_len() - 1, group.share_len() + 1] {
            assert!(group.encapsulate(&vec![9; len]).is_err(), "{len} bytes");
        }
    }
    assert_eq!(keys.counts(), counts, "a bad share costs no key");

    for group in GROUPS {
        agree(&ahead, &provider(), group);
        agree(&provider(), &ahead, group);
    }
    // X25519: two as a client, alone and in the hybrid, and two as a server. ML-KEM: two as a client.
    assert_eq!((keys.counts().x25519, keys.counts().ml_kem_768), (0, 2));
    assert_eq!(keys.kinds_in_use(4), KeyCounts::of_client(4), "no one-time key was asked for");

    let mut seen = HashSet::new();
    let mut id = [0; 16];
    for (kind, form) in
        [(NamedGroup::X25519, KeyForm::Seed), (NamedGroup::X25519MLKEM768, KeyForm::Expanded)]
    {
        let one_time = ahead.one_time(kind).expect("the provider has it");
        // More than were made: the rest on demand.
        for _ in 0..6 {
            let key = one_time.generate(KeyForm::Expanded, ahead.random, &mut id).expect("a key");
            assert_eq!(key.form, form);
            assert!(seen.insert(key.public.clone()), "a key came twice");
            assert!(seen.insert(id.to_vec()), "an id came twice");
            let own = provider().group(kind).expect("the provider has it");
            let (sent, secret) = own.encapsulate(&key.public).expect("a valid key");
            let opened = one_time.from_kept(key.form, &key.private).and_then(|key| key.open(&sent));
            assert_eq!(opened.expect("its private half").expose(), secret.expose());
        }
    }
    assert_eq!((keys.counts().one_time_x25519, keys.counts().one_time_x25519_ml_kem_768), (0, 0));
    let usage = keys.usage(KeyKind::OneTimeX25519);
    assert_eq!((usage.made, usage.used, usage.wiped, usage.on_demand), (4, 4, 0, 2));

    // A vault that keeps seeds gets seeds.
    fill(keys, counts);
    let hybrid = ahead.one_time(NamedGroup::X25519MLKEM768).expect("the provider has it");
    let key = hybrid.generate(KeyForm::Seed, ahead.random, &mut id).expect("a key");
    assert_eq!((key.form, key.private.len()), (KeyForm::Seed, 96));
    assert_eq!(keys.counts(), counts);

    fill(keys, KeyCounts::NONE);
    assert_eq!(keys.counts(), KeyCounts::NONE);
    assert_eq!(keys.usage(KeyKind::OneTimeX25519).wiped, 4);
    agree(&ahead, &provider(), NamedGroup::X25519MLKEM768);
}

fn fill(keys: KeysAhead, counts: KeyCounts) {
    while keys.fill(counts) == FillStep::Made {}
}

/// Agrees on a key, with shares that differ each time.
fn agree(client: &Provider, server: &Provider, group: NamedGroup) {
    let [client, server] = [client, server].map(|it| it.group(group).expect("the provider has it"));
    let ephemeral = client.generate().expect("a key");
    let (reply, secret) = server.encapsulate(ephemeral.share()).expect("a valid share");
    assert_eq!((ephemeral.share().len(), reply.len()), (client.share_len(), server.reply_len()));
    assert_eq!(ephemeral.decapsulate(&reply).expect("a valid reply").expose(), secret.expose());
}
