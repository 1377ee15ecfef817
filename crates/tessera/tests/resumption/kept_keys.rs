//! The forms in which vaults keep one-time keys, and keys that a server can't read.

use std::sync::{Arc, Mutex};

use tessera::crypto::{HybridOneTimeKeys, KeyForm, OneTimeKeys, Provider, SecretBytes};
use tessera::handshake::{EarlyDataStatus, Reply};
use tessera::resume::{
    FlightHandle, OneTimeSecret, PskKind, PutRefused, PutSecret, TakeAnswer, TakeSecret, Vault,
    Verdict,
};
use tessera::wire::NamedGroup;
use tessera_harness::{EARLY_DATA, Mode, OneVault, Pair, Scene, at};

/// Changes each secret that it returns.
struct ChangingVault {
    vault: OneVault,
    change: fn(&mut OneTimeSecret),
    put: Mutex<Vec<(KeyForm, usize)>>,
}

impl Vault for ChangingVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        let kept = (put.secret.form, put.secret.key.len());
        self.put.lock().expect("no panic").push(kept);
        self.vault.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        let mut taken = self.vault.take(question);
        if let Reply::Now(TakeAnswer::Taken(secret)) = &mut taken {
            (self.change)(secret);
        }
        taken
    }

    fn burn(&self, handle: &FlightHandle) {
        self.vault.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.vault.key_form()
    }

    fn len(&self) -> usize {
        self.vault.len()
    }
}

/// A client reconnects twice; returns what the vault received for it before.
fn come_back(
    provider: Provider,
    (mode, kind): (Mode, NamedGroup),
    form: KeyForm,
    change: fn(&mut OneTimeSecret),
) -> (Vec<Pair>, Vec<(KeyForm, usize)>) {
    let mut scene = Scene::new(provider, mode);
    let vault = OneVault::of(form);
    let vault = Arc::new(ChangingVault { vault, change, put: Mutex::default() });
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.vault = vault.clone();
        guard.kinds = vec![kind];
    }
    let mut session = scene.session();
    let pairs = (1..=2).map(|moment| {
        assert!(session.is_some());
        let mut pair = scene.start(session.take(), at(moment));
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        assert!(pair.to_client.complete && pair.to_server.complete);
        session = pair.to_client.sessions.pop();
        pair
    });
    let pairs = pairs.collect();
    let put = vault.put.lock().expect("no panic").clone();
    (pairs, put)
}

const HYBRID: NamedGroup = NamedGroup::X25519MLKEM768;

/// The server issues what the vault prefers, if the kind has it; flights under it are accepted.
#[test]
fn a_vault_is_given_the_form_that_it_wants() {
    let (aws_lc, null) = (tessera_aws_lc::provider(), tessera_null_provider::provider());
    let cases = [
        (aws_lc, HYBRID, KeyForm::Expanded, (KeyForm::Expanded, 2400 + 32)),
        (aws_lc, HYBRID, KeyForm::Seed, (KeyForm::Seed, 96)),
        (aws_lc, NamedGroup::X25519, KeyForm::Expanded, (KeyForm::Seed, 32)),
        // A provider that has seeds alone.
        (null, HYBRID, KeyForm::Expanded, (KeyForm::Seed, 96)),
    ];
    for mode in [Mode::FsDhe, Mode::FsKe] {
        for (provider, kind, wanted, expected) in cases {
            let (pairs, put) = come_back(provider, (mode, kind), wanted, |_| ());
            assert!(put.iter().all(|kept| *kept == expected), "{put:?}");
            for pair in pairs {
                let facts = pair.server.facts();
                assert_eq!((facts.one_time_key, facts.psk), (Some(kind), FORWARD_SECRET));
                assert_eq!(pair.to_server.early_data, EARLY_DATA);
            }
        }
    }
}

const FORWARD_SECRET: Option<PskKind> = Some(PskKind::ForwardSecret);

/// Servers of one fleet may differ in version and provider. A key that this one can't read was the only
/// copy: its flight is burned, and its client falls back to the ticket.
#[test]
fn a_key_that_cannot_be_read_burns_its_flight_and_nothing_else() {
    let changes: [fn(&mut OneTimeSecret); 7] = [
        |secret| secret.kind = NamedGroup(0x1234),
        |secret| secret.kind = NamedGroup::X25519,
        |secret| secret.key = secret.key[..50].into(),
        |secret| secret.key = SecretBytes::zeros(0),
        |secret| secret.key = [&*secret.key, &[0; 300]].concat().into(),
        |secret| secret.form = KeyForm::Expanded,
        |secret| secret.form = KeyForm::Seed,
    ];
    let (aws_lc, null) = (tessera_aws_lc::provider(), tessera_null_provider::provider());
    let all = changes.iter().enumerate();
    for (provider, form) in [(aws_lc, KeyForm::Expanded), (aws_lc, KeyForm::Seed), (null, SEED)] {
        for (number, change) in all.clone() {
            let unchanged = match form {
                KeyForm::Expanded => 5,
                KeyForm::Seed => 6,
            };
            if number == unchanged {
                continue;
            }
            for mode in [Mode::FsDhe, Mode::FsKe] {
                let (pairs, _) = come_back(provider, (mode, HYBRID), form, *change);
                for pair in pairs {
                    let facts = pair.server.facts();
                    let burned = EarlyDataStatus::Rejected(Verdict::Burned);
                    assert_eq!(facts.early_data, burned, "{form:?} {number}");
                    assert_eq!((facts.one_time_key, facts.psk), (None, Some(PskKind::Resumption)));
                    assert_eq!(pair.to_client.verdict, Some(Verdict::Burned));
                    assert_eq!(pair.to_server.early_data, b"");
                }
            }
        }
    }
}

const SEED: KeyForm = KeyForm::Seed;

/// AWS-LC checks the hash of the public half in the expanded form (FIPS 203 §7.3).
#[test]
fn a_damaged_expanded_key_burns_its_flight() {
    let damage: fn(&mut OneTimeSecret) = |secret| secret.key[1200] ^= 1;
    let provider = tessera_aws_lc::provider();
    let (pairs, _) = come_back(provider, (Mode::FsKe, HYBRID), KeyForm::Expanded, damage);
    for pair in pairs {
        assert_eq!(pair.to_client.verdict, Some(Verdict::Burned));
        assert_eq!(pair.server.facts().psk, Some(PskKind::Resumption));
    }
}

/// A part that has only seeds keeps its seed in the expanded form of the whole, whichever part it is.
#[test]
fn hybrids_of_parts_with_and_without_an_expanded_form_open() {
    let (aws_lc, null) = (tessera_aws_lc::provider(), tessera_null_provider::provider());
    let expands = (aws_lc.one_time(HYBRID).expect("keys"), aws_lc.group(HYBRID).expect("a group"));
    let seeds = (null.one_time(HYBRID).expect("keys"), null.group(HYBRID).expect("a group"));
    let cases = [
        (expands, seeds, Some(2432 + 96)),
        (seeds, expands, Some(96 + 2432)),
        (expands, expands, Some(2432 * 2)),
        (seeds, seeds, None),
    ];
    for (first, second, expanded_len) in cases {
        let kind = NamedGroup(0x1234);
        let first_encapsulated_len = first.1.reply_len();
        let hybrid =
            HybridOneTimeKeys { kind, first: first.0, first_encapsulated_len, second: second.0 };
        assert_eq!(hybrid.expanded_len(), expanded_len);
        let Some(len) = expanded_len else { continue };
        let mut private = SecretBytes::zeros(len);
        let public = hybrid.generate_expanded(aws_lc.random, &mut private).expect("a key");
        let read = || hybrid.from_expanded(&private);
        assert_eq!(read().and_then(|key| key.public()), Ok(public.clone()));
        let (one, two) = public.split_at(first.0.public_len());
        let (mut encapsulated, one) = first.1.encapsulate(one).expect("answers");
        let (reply, two) = second.1.encapsulate(two).expect("answers");
        encapsulated.extend(reply);
        let agreed = read().and_then(|key| key.open(&encapsulated)).expect("opens");
        assert_eq!(agreed.expose(), [one.expose(), two.expose()].concat());
        assert!(hybrid.from_expanded(&private[1..]).is_err());
        assert!(hybrid.generate_expanded(aws_lc.random, &mut private[1..]).is_err());
    }
}
