//! What ML-KEM and one-time KEMs cost, for `bench/one-time-kems`, which describes the operations:
//!
//! - `count SET KEM OPERATION COUNT` runs one operation so often, in functions named `measured`, for callgrind;
//! - `time ROUNDS COUNT` times all in turn, and prints the median of each, and of its ratio to full ML-KEM of its round. No
//!   run is to profit or to suffer from those before it, so each has other seeds, and a thread of its own.
#![allow(clippy::unwrap_used, reason = "no input here is a stranger's")]

mod ours;
mod peers;

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Public keys and ciphertexts are bytes, as they are on the wire.
trait Kem {
    type Key;
    fn generate(seed: &[[u8; 32]; 2]) -> (Self::Key, Vec<u8>);
    fn encapsulate(public: &[u8], random: &[[u8; 32]; 2]) -> (Vec<u8>, [u8; 32]);
    fn decapsulate(key: Self::Key, ciphertext: &[u8]) -> [u8; 32];
}

#[derive(Clone, Copy, PartialEq)]
enum Operation {
    KeyGeneration,
    Encapsulation,
    Decapsulation,
    Exchange,
}

const OPERATIONS: [(&str, Operation); 4] = [
    ("keygen", Operation::KeyGeneration),
    ("encaps", Operation::Encapsulation),
    ("decaps", Operation::Decapsulation),
    ("exchange", Operation::Exchange),
];

/// Runs an operation so often, with seeds from a number on, and returns how long it took; what it needs is made before.
type Run = fn(Operation, u32, u8) -> Duration;

/// A set's first one is full ML-KEM in this crate.
const KEMS: [(&str, &str, Run); 21] = [
    ("512", "full", run::<ours::Full<2>>),
    ("512", "t-h", run::<ours::OneTime<2>>),
    ("512", "fo-skip", run::<ours::FoSkip<2>>),
    ("512", "encrypt-then-mac", run::<ours::EncryptThenMac<2>>),
    ("512", "as-coded", run::<ours::AsCoded<2>>),
    ("512", "ml-kem", run::<peers::MlKem512>),
    ("512", "aws-lc", run::<peers::AwsLc<2>>),
    ("768", "full", run::<ours::Full<3>>),
    ("768", "t-h", run::<ours::OneTime<3>>),
    ("768", "fo-skip", run::<ours::FoSkip<3>>),
    ("768", "encrypt-then-mac", run::<ours::EncryptThenMac<3>>),
    ("768", "as-coded", run::<ours::AsCoded<3>>),
    ("768", "ml-kem", run::<peers::MlKem768>),
    ("768", "aws-lc", run::<peers::AwsLc<3>>),
    ("1024", "full", run::<ours::Full<4>>),
    ("1024", "t-h", run::<ours::OneTime<4>>),
    ("1024", "fo-skip", run::<ours::FoSkip<4>>),
    ("1024", "encrypt-then-mac", run::<ours::EncryptThenMac<4>>),
    ("1024", "as-coded", run::<ours::AsCoded<4>>),
    ("1024", "ml-kem", run::<peers::MlKem1024>),
    ("1024", "aws-lc", run::<peers::AwsLc<4>>),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["count", set, name, operation, count, ..] => {
            let (_, _, run) = KEMS.iter().find(|kem| (kem.0, kem.1) == (set, name)).unwrap();
            let (_, operation) = OPERATIONS.iter().find(|(it, _)| *it == operation).unwrap();
            run(*operation, 0, count.parse().unwrap());
        }
        ["time", rounds, count, ..] => time(rounds.parse().unwrap(), count.parse().unwrap()),
        _ => eprintln!("one_time count SET KEM OPERATION COUNT | time ROUNDS COUNT"),
    }
}

fn run<K: Kem>(operation: Operation, first: u32, count: u8) -> Duration {
    let seeds = (first..).take(count.into()).map(seeds);
    match operation {
        Operation::KeyGeneration => total(first, seeds, |seed| K::generate(&seed)),
        Operation::Encapsulation => {
            let inputs = seeds.map(|seed| (K::generate(&seed).1, seed));
            total(first, inputs, |(public, random)| K::encapsulate(&public, &random))
        }
        Operation::Decapsulation => {
            let inputs = seeds.map(|seed| {
                let (key, public) = K::generate(&seed);
                (key, K::encapsulate(&public, &seed))
            });
            total(first, inputs, |(key, (ciphertext, secret))| {
                assert_eq!(K::decapsulate(key, &ciphertext), secret);
            })
        }
        Operation::Exchange => total(first, seeds, |seed| {
            let (key, public) = K::generate(&seed);
            let (ciphertext, secret) = K::encapsulate(&public, &seed);
            assert_eq!(K::decapsulate(key, &ciphertext), secret);
        }),
    }
}

/// Two seeds, others for each number.
fn seeds(number: u32) -> [[u8; 32]; 2] {
    let [mut first, mut second] = [[0; 32], [0xff; 32]];
    first[..4].copy_from_slice(&number.to_le_bytes());
    second[..4].copy_from_slice(&number.to_le_bytes());
    [first, second]
}

fn total<I, R>(
    first: u32,
    inputs: impl Iterator<Item = I>,
    operation: impl Fn(I) -> R,
) -> Duration {
    let inputs: Vec<I> = inputs.collect();
    forget(first);
    let start = Instant::now();
    for input in inputs {
        black_box(measured(|| operation(input)));
    }
    start.elapsed()
}

/// Samples matrices of other keys. A processor remembers for a while which candidates of a matrix are rejected.
fn forget(first: u32) {
    for number in 0..10 {
        black_box(ours::Full::<4>::generate(&seeds(!first - number)));
    }
}

#[inline(never)]
fn measured<R>(operation: impl FnOnce() -> R) -> R {
    operation()
}

fn time(rounds: usize, count: u8) {
    let mut firsts = (0..).step_by(usize::from(count) + 1);
    for (_, operation) in OPERATIONS {
        let mut times = vec![Vec::new(); KEMS.len()];
        let mut ratios = vec![Vec::new(); KEMS.len()];
        for _ in 0..rounds {
            let mut full = 0.0;
            for (at, (_, name, run)) in KEMS.iter().enumerate() {
                let first = firsts.next().unwrap();
                let time = alone(*run, operation, first, count).as_secs_f64() / f64::from(count);
                if *name == "full" {
                    full = time;
                }
                times[at].push(time * 1e9);
                ratios[at].push(time / full);
            }
        }
        let (name_of, _) = OPERATIONS.iter().find(|(_, it)| *it == operation).unwrap();
        for (at, (set, name, _)) in KEMS.iter().enumerate() {
            let (time, ratio) = (median(&mut times[at]), median(&mut ratios[at]));
            println!("{set} {name} {name_of} {time:.0} {ratio:.4}");
        }
    }
}

/// Runs in a thread of its own: AWS-LC leaves the upper halves of vector registers in use, which makes SSE instructions
/// slower until code clears them, as that of Poly1305 does.
fn alone(run: Run, operation: Operation, first: u32, count: u8) -> Duration {
    let thread = std::thread::spawn(move || {
        // The first operation of a thread is the first to touch its memory.
        run(operation, first, 1);
        run(operation, first + 1, count)
    });
    thread.join().unwrap()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
