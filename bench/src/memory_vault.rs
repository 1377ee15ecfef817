//! The memory vault: how many takes a second, and how many bytes per secret.
//!
//! `cargo run --profile dist --package tessera-bench --features jemalloc --bin memory-vault [SECRETS] [THREADS]`

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use tessera::crypto::{KeyForm, Secret};
use tessera::handshake::Reply;
use tessera::resume::{
    FlightHandle, OneTimeSecret, PutSecret, TakeAnswer, TakePurpose, TakeSecret, Vault,
};
use tessera::wire::NamedGroup;
use tessera_vault::{Limits, MemoryVault};
use tikv_jemalloc_ctl::{epoch, stats};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const NOW: Duration = Duration::from_secs(1_800_000_000);
const LIFETIME: Duration = Duration::from_secs(3600);

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let secrets: usize = arguments.next().unwrap_or(1_000_000);
    let threads: usize = arguments.next().unwrap_or(2);
    let handles: Vec<_> = (0..secrets as u64).map(handle).collect();

    let before = allocated();
    // Room to spare: nothing is evicted.
    let vault = vault_for(secrets);
    let each = |thread: usize| handles.iter().skip(thread).step_by(threads);
    let put = run(threads, |thread| {
        for handle in each(thread) {
            put_one(&vault, handle, &X25519, Some(&handle.0[..8]));
        }
    });
    let kept = vault.len();
    let bytes = (allocated() - before) as f64 / kept as f64;
    let take = run(threads, |thread| {
        for handle in each(thread) {
            let question = TakeSecret::new(*handle, TakePurpose::Accept, Some(NOW));
            let taken = vault.take(&question);
            assert!(matches!(taken, Reply::Now(TakeAnswer::Taken(_))), "it is there");
        }
    });
    let rate = |(time, busy): (Duration, Duration)| {
        let million = |time: Duration| kept as f64 / time.as_secs_f64() / 1e6;
        // On a machine with other load the second number is the capacity of the vault itself.
        let share = million(busy) * threads as f64;
        format!("{:.2} million/s; {share:.2} if no processor did anything else", million(time))
    };
    println!("{kept} secrets of X25519 with SHA-384, each of another client, {threads} threads");
    println!("puts: {}", rate(put));
    println!("takes: {}", rate(take));
    println!("memory: {bytes:.0} bytes per secret, the vault's tables included");
    drop(vault);
    for key in &[X25519, HYBRID_SEED, HYBRID_EXPANDED] {
        let handles = &handles[..secrets.div_ceil(10)];
        let before = allocated();
        let vault = vault_for(handles.len());
        handles.iter().for_each(|handle| put_one(&vault, handle, key, None));
        let bytes = (allocated() - before) as f64 / vault.len() as f64;
        println!("memory of {} {}, without an owner: {bytes:.0} bytes each", vault.len(), key.name);
    }
}

/// Returns a vault with room to spare: nothing is evicted, nothing is refused.
fn vault_for(secrets: usize) -> MemoryVault {
    let secrets = secrets + secrets / 8;
    // A quarter is for clients with a name.
    MemoryVault::with_limits(Limits { expanded_bytes: usize::MAX, ..Limits::new(secrets * 4 / 3) })
}

fn put_one(vault: &MemoryVault, handle: &FlightHandle, key: &Key, client: Option<&[u8]>) {
    let mut put = PutSecret::new(*handle, secret(key), NOW + LIFETIME, NOW);
    put.client = client;
    assert!(vault.put(put).is_ok(), "there is room");
}

/// The stored part of a key.
struct Key {
    name: &'static str,
    kind: NamedGroup,
    form: KeyForm,
    len: usize,
}

const X25519: Key = Key { name: "X25519", kind: NamedGroup::X25519, form: KeyForm::Seed, len: 32 };

const HYBRID_SEED: Key = Key {
    name: "X25519MLKEM768, seeds",
    kind: NamedGroup::X25519MLKEM768,
    form: KeyForm::Seed,
    len: 96,
};

const HYBRID_EXPANDED: Key =
    Key { name: "X25519MLKEM768, expanded", form: KeyForm::Expanded, len: 2432, ..HYBRID_SEED };

/// Runs `job` in threads that begin together; returns how long the last one took, and the processor time of all.
fn run(threads: usize, job: impl Fn(usize) + Sync) -> (Duration, Duration) {
    let start = Barrier::new(threads + 1);
    let busy =
        || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, From::from);
    thread::scope(|scope| {
        let (start, job) = (&start, &job);
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    start.wait();
                    let before = busy();
                    job(thread);
                    busy() - before
                })
            })
            .collect();
        start.wait();
        let began = Instant::now();
        let join =
            |handle: thread::ScopedJoinHandle<'_, Duration>| handle.join().expect("it takes all");
        let busy = handles.into_iter().map(join).sum();
        (began.elapsed(), busy)
    })
}

fn secret(key: &Key) -> OneTimeSecret {
    OneTimeSecret {
        kind: key.kind,
        form: key.form,
        key: vec![7; key.len].into(),
        fs_secret: Secret::filled_by(48, |out| out.fill(9)),
    }
}

/// As good as random: the vault hashes ids with its own key.
fn handle(number: u64) -> FlightHandle {
    let mut id = [0; 32];
    for (index, part) in id.chunks_exact_mut(8).enumerate() {
        let mixed = (number * 4 + index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        part.copy_from_slice(&(mixed ^ (mixed >> 29)).to_be_bytes());
    }
    FlightHandle(id)
}

fn allocated() -> usize {
    epoch::advance().and_then(|_| stats::allocated::read()).unwrap_or(0)
}
