//! Runs worlds, and says what came of them.

use std::process::ExitCode;

use tessera_exactly_once::client::Seen;
use tessera_exactly_once::run;

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
    let (mut wanted, mut replays, mut restarts, mut wrong) = (0, 0, 0, 0);
    let mut seen = Seen::default();
    let mut warm = None;
    for seed in first..first + runs {
        match run(seed, &store, None) {
            Ok(outcome) => {
                if outcome.counted != outcome.wanted {
                    let (counted, wanted) = (outcome.counted, outcome.wanted);
                    eprintln!("seed {seed}: {wanted} increments were wanted, {counted} counted");
                    wrong += 1;
                }
                wanted += outcome.wanted;
                replays += outcome.replays;
                restarts += outcome.restarts;
                seen.connections += outcome.seen.connections;
                seen.accepted += outcome.seen.accepted;
                (0..3).for_each(|it| seen.verdicts[it] += outcome.seen.verdicts[it]);
                (0..4).for_each(|it| seen.receipts[it] += outcome.seen.receipts[it]);
            }
            Err(error) => {
                eprintln!("error: {error}");
                wrong += 1;
            }
        }
        // After a hundred runs everything has been allocated that a run needs.
        if seed == first + 100 {
            warm = resident();
        }
    }
    let _ = std::fs::remove_file(&store);
    println!("runs                         {runs} (seeds from {first})");
    println!("increments wanted            {wanted}");
    println!("runs with another count      {wrong}");
    println!("connections                  {}", seen.connections);
    println!("early data accepted          {}", seen.accepted);
    let [burned, used, unknown] = seen.verdicts;
    println!("verdicts                     burned {burned}, used {used}, unknown {unknown}");
    let [burned, taken, done, unknown] = seen.receipts;
    println!(
        "receipts                     burned {burned}, taken {taken}, done {done}, unknown {unknown}"
    );
    println!("flights replayed             {replays}");
    println!("restarts of the server       {restarts}");
    let grown = warm.zip(resident()).map(|(warm, now)| now.saturating_sub(warm));
    if let Some(grown) = grown {
        println!("memory since the 100th run    {} KiB more", grown / 1024);
        if grown > MOST_GROWTH {
            eprintln!("memory grows");
            wrong += 1;
        }
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the allocator may keep, in bytes; a leak of 100 bytes in each of 100,000 runs is more.
const MOST_GROWTH: u64 = 8 * 1024 * 1024;

/// The resident memory of this process in bytes, where /proc tells.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split(' ').nth(1)?.parse::<u64>().ok().map(|pages| pages * 4096)
}
