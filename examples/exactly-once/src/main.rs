//! Runs worlds, and prints the results.

use std::process::ExitCode;
use std::sync::Arc;

use tessera_exactly_once::{Tally, run};

const USAGE: &str = "usage: exactly-once [RUNS [FIRST_SEED]]";

fn main() -> ExitCode {
    let numbers: Option<Vec<u64>> =
        std::env::args().skip(1).map(|argument| argument.parse().ok()).collect();
    let (runs, first) = match numbers.as_deref() {
        Some([]) => (1000, 0),
        Some([runs]) => (*runs, 0),
        Some([runs, first]) => (*runs, *first),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let store = std::env::temp_dir().join(format!("exactly-once-{}.db", std::process::id()));
    let (mut wanted, mut wrong) = (0, 0);
    let tally = Arc::new(Tally::default());
    let mut warm = None;
    for seed in (first..).take(usize::try_from(runs).unwrap_or(usize::MAX)) {
        match run(seed, &store, None, &tally) {
            Ok(outcome) => {
                if outcome.counted != outcome.wanted {
                    let (counted, wanted) = (outcome.counted, outcome.wanted);
                    eprintln!("seed {seed}: {wanted} increments were wanted, {counted} counted");
                    wrong += 1;
                }
                wanted += outcome.wanted;
            }
            Err(error) => {
                eprintln!("error: {error}");
                wrong += 1;
            }
        }
        // After a hundred runs, everything that a run needs has been allocated.
        if seed - first == 100 {
            warm = resident();
        }
    }
    let _ = std::fs::remove_file(&store);
    println!("{runs:>9} runs, seeds from {first}");
    println!("{wanted:>9} increments wanted");
    println!("{wrong:>9} runs with another count");
    for (what, count) in tally.counts() {
        println!("{count:>9} {what}");
    }
    if let Some(grown) = warm.zip(resident()).map(|(warm, now)| now.saturating_sub(warm)) {
        println!("{grown:>9} KiB more memory than after the first 100 runs");
        if grown > MOST_GROWTH {
            eprintln!("memory grows");
            wrong += 1;
        }
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Growth attributed to the allocator, in KiB; a leak of 100 bytes in each of 100,000 runs is more.
const MOST_GROWTH: u64 = 8 * 1024;

/// Returns the resident memory of this process in KiB, if /proc is available.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
