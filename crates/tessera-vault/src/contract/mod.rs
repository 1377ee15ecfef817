//! The contract of every [`Vault`], as functions that panic if it is broken.
//!
//! The author of a vault calls [`vault`] from a test, or the functions one by one. They expect immediate
//! answers ([`Reply::Now`]); wrap a vault that answers later in one that waits.

mod lives;

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use tessera::crypto::{KeyForm, Secret, SecretBytes};
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, OneTimeSecret, PutSecret, TakeAnswer, TakePurpose, TakeSecret, Vault,
};
use tessera::wire::NamedGroup;

pub use lives::{a_kill_between_take_and_answer, restart, rolled_back};

/// The time at which the contract is tested, since the Unix epoch.
pub const NOW: Duration = Duration::from_secs(1_800_000_000);

/// How long most secrets of the contract live, from [`NOW`].
pub const LIFETIME: Duration = Duration::from_secs(3600);

/// Tests the whole contract. `make` returns an empty vault with room for at least 100 secrets and 100
/// tombstones.
pub fn vault<V: Vault>(make: impl Fn() -> V) {
    a_secret_comes_back_as_it_was(&make());
    one_of_many_takes_wins(&make());
    takes_and_burns_race(&make());
    what_was_taken_is_used(&make());
    what_was_taken_to_burn_is_burned(&make());
    what_was_burned_is_burned(&make());
    a_handle_serves_once(&make());
    expired_secrets_are_unknown(&make());
    the_clock_may_jump(&make());
    secrets_are_counted(&make());
}

/// Makes a flight's name for tests.
pub fn handle(number: u32) -> FlightHandle {
    let mut handle = [0xa5; 32];
    handle[..4].copy_from_slice(&number.to_be_bytes());
    FlightHandle(handle)
}

/// Makes a secret for tests, of the size of an X25519 key with SHA-384; it depends on `number`.
pub fn secret(number: u32) -> OneTimeSecret {
    let fill = |out: &mut [u8]| {
        out.fill(0x5a);
        out[..4].copy_from_slice(&number.to_be_bytes());
    };
    let mut key = SecretBytes::zeros(32);
    fill(&mut key);
    let fs_secret = Secret::filled_by(48, fill);
    OneTimeSecret { kind: NamedGroup::X25519, form: KeyForm::Seed, key, fs_secret }
}

/// Puts [`secret`] under [`handle`] for [`LIFETIME`], without a client; returns whether the vault took it.
pub fn put(vault: &impl Vault, number: u32) -> bool {
    put_for(vault, number, None)
}

/// Puts [`secret`] under [`handle`] for [`LIFETIME`], for a client; returns whether the vault took it.
pub fn put_for(vault: &impl Vault, number: u32, client: Option<&[u8]>) -> bool {
    put_until(vault, number, secret(number), NOW + LIFETIME, client)
}

/// Puts any secret under [`handle`]; returns whether the vault took it.
pub fn put_until(
    vault: &impl Vault,
    number: u32,
    secret: OneTimeSecret,
    expires_at: Duration,
    client: Option<&[u8]>,
) -> bool {
    let mut put = PutSecret::new(handle(number), secret, expires_at, NOW);
    put.client = client;
    vault.put(put).is_ok()
}

/// Makes the question for the secret under [`handle`].
pub fn question(number: u32, purpose: TakePurpose, unix: Option<Duration>) -> TakeSecret {
    TakeSecret::new(handle(number), purpose, unix)
}

/// Takes the secret under [`handle`].
///
/// # Panics
/// Panics if the vault does not answer at once, or answers with another secret.
pub fn take(
    vault: &impl Vault,
    number: u32,
    purpose: TakePurpose,
    unix: Option<Duration>,
) -> Result<(), Absence> {
    let taken = match vault.take(&question(number, purpose, unix)) {
        Reply::Now(TakeAnswer::Taken(taken)) => Ok(taken),
        Reply::Now(TakeAnswer::Absent(absent)) => Err(absent),
        Reply::Now(_) => unreachable!("the vault is not available"),
        Reply::Later => unreachable!("the vault does not answer at once"),
    };
    taken.map(|taken| {
        let put = secret(number);
        assert_eq!(taken.kind, put.kind);
        assert_eq!((taken.form, &*taken.key), (put.form, &*put.key));
        assert_eq!(taken.fs_secret, put.fs_secret);
    })
}

/// Takes the secret under [`handle`] at [`NOW`], to accept a flight.
///
/// # Panics
/// Like [`take`].
pub fn accept(vault: &impl Vault, number: u32) -> Result<(), Absence> {
    take(vault, number, TakePurpose::Accept, Some(NOW))
}

/// Tests that secrets of any kind, form and length come back unchanged.
pub fn a_secret_comes_back_as_it_was(vault: &impl Vault) {
    assert_eq!(accept(vault, 0), Err(Absence::Unknown), "nothing is there yet");
    for number in 1..=3 {
        assert!(put(vault, number));
    }
    for number in [2, 3, 1] {
        assert_eq!(accept(vault, number), Ok(()));
    }
    // A hybrid key in both forms, a one-time PSK, and one longer than any kind has today.
    let others = [
        (NamedGroup::X25519MLKEM768, KeyForm::Seed, 96),
        (NamedGroup::X25519MLKEM768, KeyForm::Expanded, 2432),
        (NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED, KeyForm::Seed, 0),
        (NamedGroup(0x0202), KeyForm::Seed, 5000),
        (NamedGroup::X25519, KeyForm::Expanded, 1),
    ];
    for (number, (kind, form, len)) in (4..).zip(others) {
        let key = || SecretBytes::from((0..len).map(|at| (at % 251) as u8).collect::<Vec<_>>());
        let fs_secret = Secret::filled_by(32, |out| out.fill(1));
        let secret = OneTimeSecret { kind, form, key: key(), fs_secret };
        assert!(put_until(vault, number, secret, NOW + LIFETIME, None), "there is room");
        let asked = question(number, TakePurpose::Accept, Some(NOW));
        let Reply::Now(TakeAnswer::Taken(taken)) = vault.take(&asked) else {
            unreachable!("the secret is there");
        };
        assert_eq!((taken.kind, taken.form), (kind, form));
        assert!(*taken.key == *key(), "{kind:?} {form:?}");
        assert_eq!(taken.fs_secret.expose(), [1; 32]);
    }
}

/// Tests that of 64 threads that take the same secret one gets it, and the others learn that it was used.
pub fn one_of_many_takes_wins(vault: &impl Vault) {
    for number in 0..10 {
        assert!(put(vault, number));
        let results = race(64, |_| accept(vault, number));
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        let used = results.iter().filter(|result| **result == Err(Absence::Used)).count();
        assert_eq!(used, 63, "{results:?}");
    }
}

/// Races takes of either purpose with burns: at most one take wins, and all see the outcome.
pub fn takes_and_burns_race(vault: &impl Vault) {
    for number in 0..10 {
        assert!(put(vault, number));
        let results = race(64, |thread| match thread % 3 {
            0 => accept(vault, number),
            1 => take(vault, number, TakePurpose::Burn, Some(NOW)),
            _ => {
                vault.burn(&handle(number));
                Err(Absence::Unknown)
            }
        });
        assert!(results.iter().filter(|result| result.is_ok()).count() <= 1, "{results:?}");
        let accepted = results.iter().step_by(3).any(|result| result.is_ok());
        let fate = if accepted { Absence::Used } else { Absence::Burned };
        assert_eq!(accept(vault, number), Err(fate));
        let takes = results.iter().enumerate().filter(|(thread, _)| thread % 3 != 2);
        for (_, result) in takes {
            assert!(*result == Ok(()) || *result == Err(fate), "{results:?}");
        }
    }
}

/// Tests that a secret taken to accept a flight stays used.
pub fn what_was_taken_is_used(vault: &impl Vault) {
    assert!(put(vault, 1));
    assert_eq!(accept(vault, 1), Ok(()));
    vault.burn(&handle(1));
    assert_eq!(accept(vault, 1), Err(Absence::Used));
    assert_eq!(take(vault, 1, TakePurpose::Burn, Some(NOW)), Err(Absence::Used));
}

/// Tests that a secret taken to burn it stays burned.
pub fn what_was_taken_to_burn_is_burned(vault: &impl Vault) {
    assert!(put(vault, 1));
    assert_eq!(take(vault, 1, TakePurpose::Burn, Some(NOW)), Ok(()));
    assert_eq!(accept(vault, 1), Err(Absence::Burned));
    assert_eq!(take(vault, 1, TakePurpose::Burn, Some(NOW)), Err(Absence::Burned));
}

/// Tests that a burn destroys an existing secret, and leaves a handle that was never put unknown.
pub fn what_was_burned_is_burned(vault: &impl Vault) {
    assert!(put(vault, 1));
    vault.burn(&handle(1));
    vault.burn(&handle(1));
    assert_eq!(vault.len(), 0);
    assert_eq!(accept(vault, 1), Err(Absence::Burned));
    vault.burn(&handle(2));
    assert_eq!(accept(vault, 2), Err(Absence::Unknown));
}

/// Tests that a handle that is or was in use is refused, and that the refusal changes nothing.
pub fn a_handle_serves_once(vault: &impl Vault) {
    assert!(put(vault, 1));
    assert!(!put_until(vault, 1, secret(2), NOW + LIFETIME, None));
    assert_eq!(accept(vault, 1), Ok(()), "the first secret is still there");
    assert!(!put(vault, 1));
    assert_eq!(accept(vault, 1), Err(Absence::Used));
}

/// Tests that a secret is not returned at or after its expiry, and is gone for good.
pub fn expired_secrets_are_unknown(vault: &impl Vault) {
    for number in 0..3 {
        assert!(put(vault, number));
    }
    let end = NOW + LIFETIME;
    let before = end.checked_sub(Duration::from_secs(1));
    assert_eq!(take(vault, 0, TakePurpose::Accept, before), Ok(()));
    assert_eq!(take(vault, 1, TakePurpose::Accept, Some(end)), Err(Absence::Unknown));
    assert_eq!(take(vault, 2, TakePurpose::Accept, Some(end * 2)), Err(Absence::Unknown));
    assert_eq!(accept(vault, 1), Err(Absence::Unknown), "the clock went back");
}

/// Tests that no secret comes twice and new secrets work, whatever the clock does.
pub fn the_clock_may_jump(vault: &impl Vault) {
    let times = [Duration::ZERO, NOW * 3, NOW, Duration::MAX, NOW / 2, NOW];
    for (number, time) in (0..).zip(times) {
        assert!(put(vault, number), "{time:?}");
        let first = take(vault, number, TakePurpose::Accept, Some(time));
        assert_eq!(first.is_ok(), time < NOW + LIFETIME, "{time:?}");
        for other in times {
            let again = take(vault, number, TakePurpose::Accept, Some(other));
            assert!(again.is_err(), "{time:?} {other:?}");
        }
    }
    assert!(put(vault, 100));
    assert_eq!(accept(vault, 100), Ok(()));
}

/// Tests that `len` counts the secrets in the vault.
pub fn secrets_are_counted(vault: &impl Vault) {
    assert!(vault.is_empty());
    for number in 0..20 {
        assert_eq!(vault.len(), number as usize);
        assert!(put(vault, number));
    }
    for number in 0..10 {
        assert_eq!(accept(vault, number), Ok(()));
    }
    assert_eq!(vault.len(), 10);
    vault.burn(&handle(10));
    vault.burn(&handle(0));
    assert_eq!(vault.len(), 9);
}

/// Tests that a full vault evicts old secrets for new ones, or refuses them; it never holds more than
/// `capacity`, and what it holds can be taken.
pub fn capacity_is_a_bound(vault: &impl Vault, capacity: usize) {
    let count = capacity as u32 * 2;
    let taken_in = (0..count).filter(|number| put(vault, *number)).count();
    assert!(taken_in >= capacity / 2, "{taken_in}");
    assert!(vault.len() <= capacity, "{}", vault.len());
    let left = (0..count).filter(|number| match accept(vault, *number) {
        Ok(()) => true,
        Err(absent) => {
            assert_eq!(absent, Absence::Unknown, "it was neither used nor burned");
            false
        }
    });
    let left = left.count();
    assert!((capacity / 2..=capacity).contains(&left), "{left}");
}

/// Tests that no client holds more than `limit` secrets or takes another's room, and that using secrets makes
/// room.
pub fn clients_have_a_limit_each(vault: &impl Vault, limit: usize) {
    let limit = limit as u32;
    for client in 0..3 {
        let name = [client as u8; 20];
        for number in 0..limit {
            assert!(put_for(vault, client * 1000 + number, Some(&name)), "{client} {number}");
        }
        put_for(vault, client * 1000 + limit, Some(&name));
    }
    assert_eq!(vault.len(), limit as usize * 3);
    let has = |client: u32| {
        let numbers = client * 1000..=client * 1000 + limit;
        numbers.filter(|number| accept(vault, *number).is_ok()).count()
    };
    assert_eq!(has(0), limit as usize);
    assert!(put_for(vault, 900, Some(&[0; 20])), "it has used all");
    assert_eq!(accept(vault, 900), Ok(()));
    assert_eq!(has(1), limit as usize);
    assert!(put(vault, 901), "the limit per client applies to clients alone");
}

/// Tests that, however many secrets are put for unnamed clients, named ones have room for a quarter of
/// `capacity`, and keep what they put.
pub fn the_nameless_leave_room(vault: &impl Vault, capacity: usize) {
    let capacity = capacity as u32;
    let flood = |from: u32| {
        for number in from..from + capacity * 2 {
            put(vault, number);
        }
    };
    flood(0);
    let named = 1_000_000..1_000_000 + capacity / 4;
    for number in named.clone() {
        assert!(put_for(vault, number, Some(&number.to_be_bytes())), "{number}");
    }
    flood(capacity * 2);
    for number in named {
        assert_eq!(accept(vault, number), Ok(()), "{number}");
    }
}

/// Tests that a client that takes all the room it can get, named or not, takes nothing from named clients
/// that hold less: one secret each. Of `capacity`, at least 16, a quarter has room for all named clients.
pub fn who_holds_less_keeps_it(vault: &impl Vault, capacity: usize) {
    let capacity = capacity as u32;
    // The greedy clients have a secret each, too.
    let quiet = 1_000_000..1_000_000 + capacity / 4 - 3;
    for number in quiet.clone() {
        assert!(put_for(vault, number, Some(&number.to_be_bytes())), "{number}");
    }
    for number in 0..capacity * 8 {
        let greedy: [Option<&[u8]>; 4] = [None, Some(b"one"), Some(b"two"), Some(b"three")];
        put_for(vault, number, greedy[number as usize % 4]);
    }
    for number in quiet {
        assert_eq!(accept(vault, number), Ok(()), "{number}");
    }
}

/// Runs `job` in many threads that start together.
///
/// # Panics
/// Panics if a job panics.
pub fn race<T: Send>(threads: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(threads);
    let run = |thread| {
        start.wait();
        job(thread)
    };
    let run = &run;
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        handles.into_iter().map(|handle| handle.join().expect("the job does not panic")).collect()
    })
}
