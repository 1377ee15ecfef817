//! The cost of wiping the stack for either side, and how deep the wiping must go: `wiping-cost HANDSHAKES ROUNDS`. See
//! README.md.

use std::env;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use tessera::crypto::StackDepth;
use tessera_handshake_bench::{Cost, End, Meter, Scene, Timer, WAYS, Way};

fn main() -> ExitCode {
    let numbers: Option<Vec<usize>> =
        env::args().skip(1).map(|argument| argument.parse().ok()).collect();
    let (handshakes, rounds) = match numbers.as_deref() {
        Some([]) => (200, 31),
        Some([handshakes, rounds]) if *handshakes > 0 && *rounds > 0 => (*handshakes, *rounds),
        _ => {
            eprintln!("usage: wiping-cost [HANDSHAKES ROUNDS]");
            return ExitCode::from(2);
        }
    };
    let scenes: Vec<_> = WAYS
        .iter()
        .map(|way| [Scene::new(way, Some(StackDepth::NOTHING_IS_WIPED)), Scene::new(way, None)])
        .collect();
    let mut samples = vec![[const { Vec::new() }; 4]; WAYS.len()];
    for _ in 0..rounds {
        // In turn, so that other load of the machine affects all of them.
        for (scenes, samples) in scenes.iter().zip(&mut samples) {
            let [without, with] = scenes.each_ref().map(|scene| scene.round(handshakes));
            for (samples, sample) in samples.iter_mut().zip(columns(without, with)) {
                samples.push(sample);
            }
        }
    }
    println!(
        "{:<60} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "µs per connection, and what wiping adds", "client", "", "server", "", "depth"
    );
    for (way, samples) in WAYS.iter().zip(samples) {
        let [client, server] = [0, 2].map(|column| median(samples[column].clone()));
        let [more_client, more_server] =
            [0, 2].map(|column| median_difference(&samples[column], &samples[column + 1]));
        println!(
            "{:<60} {client:>8.1} {more_client:>+8.2} {server:>8.1} {more_server:>+8.2} {:>8}",
            way.name,
            depth(way)
        );
    }
    println!(
        "\nProcessor time of one thread, medians of {rounds} rounds of {handshakes} connections in \
         turn,\nand of the rounds' differences.\nDepth: bytes of the stack that calls of either end's engine reached, without wiping."
    );
    ExitCode::SUCCESS
}

fn columns(without: Cost, with: Cost) -> [Duration; 4] {
    [without.client, with.client, without.server, with.server]
}

fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort_unstable();
    samples[samples.len() / 2].as_secs_f64() * 1e6
}

/// Returns what the second adds, round by round: other load of the machine affects both.
fn median_difference(without: &[Duration], with: &[Duration]) -> f64 {
    let difference = |(without, with): (&Duration, &Duration)| {
        (with.as_secs_f64() - without.as_secs_f64()) * 1e6
    };
    let mut differences: Vec<_> = without.iter().zip(with).map(difference).collect();
    differences.sort_unstable_by(f64::total_cmp);
    differences[differences.len() / 2]
}

/// Returns how deep the calls of either end's engine write into the stack, in bytes.
fn depth(way: &'static Way) -> usize {
    let measure = move || {
        let scene = Scene::new(way, Some(StackDepth::NOTHING_IS_WIPED));
        let memory = File::open("/proc/self/mem").expect("this process may read its own memory");
        let mut deepest = Depth { memory, bytes: 0 };
        let session = scene.first(&mut Timer::new());
        scene.next(session, &mut deepest);
        deepest.bytes
    };
    let thread = thread::Builder::new().stack_size(4 * SEARCHED).spawn(measure);
    thread.expect("starts").join().expect("ends")
}

/// The deepest that calls have reached.
struct Depth {
    memory: File,
    bytes: usize,
}

impl Meter for Depth {
    #[inline(never)]
    fn run<R>(&mut self, _: End, engine: impl FnOnce() -> R) -> R {
        let here = 0_u8;
        let here = black_box(&raw const here as usize);
        clear();
        let result = engine();
        let mut stack = vec![0; SEARCHED];
        self.memory
            .read_exact_at(&mut stack, (here - SEARCHED) as u64)
            .expect("the stack is there");
        let depth = stack.iter().position(|byte| *byte != 0).map_or(0, |lowest| SEARCHED - lowest);
        self.bytes = self.bytes.max(depth);
        result
    }
}

/// Writes zeros into the stack below.
#[inline(never)]
fn clear() {
    black_box(&mut [0_u8; SEARCHED]);
}

const SEARCHED: usize = 512 * 1024;
