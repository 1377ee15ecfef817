//! The cost of bytes through two pumps, with TLS between them and without.
//!
//! `pump_cost [MIB [ROUNDS [THREADS]]]` sends MIB mebibytes (default 1024) over loopback through both ends, ROUNDS
//! times (default 5) in turn, in one stream and in 64, and prints the processor time of the ends per GiB. THREADS is
//! that of each end (default 1). TLS is mutual, with AES-128-GCM and P-256.
//!
//! For profiling: `bench/tunnel-cost bulk` measures the program itself, against HAProxy and stunnel.

mod ends;
mod load;

use std::env;
use std::time::Instant;

use self::ends::Ends;
use self::load::{Direction, Load};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let mut number = |or| arguments.next().map_or(Ok(or), |text| text.parse::<usize>());
    let (mebibytes, rounds, threads) = (number(1024)?, number(5)?, number(1)?);
    let load = Load::start()?;
    let ends = [Ends::plain(threads, load.backend)?, Ends::tls(threads, load.backend)?];
    println!(
        "seconds of processor time per GiB, and GiB per second; median of {rounds}, {mebibytes} MiB each"
    );
    for streams in [1, 64] {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let mut spent = vec![Vec::new(); ends.len()];
            for _ in 0..rounds {
                for (ends, spent) in ends.iter().zip(&mut spent) {
                    let (before, started) = (ends.processor_time()?, Instant::now());
                    load.send(ends.address, direction, mebibytes << 20, streams)?;
                    let wall = started.elapsed().as_secs_f64();
                    let after = ends.processor_time()?;
                    let gibibytes = mebibytes as f64 / 1024.0;
                    let (client, server) = (after.0 - before.0, after.1 - before.1);
                    spent.push([client, server, client + server].map(|it| it / gibibytes / 1e9));
                    ends.note(gibibytes / wall);
                }
            }
            for (ends, mut spent) in ends.iter().zip(spent) {
                spent.sort_by(|a, b| a[2].total_cmp(&b[2]));
                let [client, server, both] = spent[spent.len() / 2];
                println!(
                    "{streams:>3} streams {direction:?}  {:<5} client {client:.3}  server {server:.3}  both {both:.3}  \
                     (least {:.3})  {:.2} GiB/s",
                    ends.name,
                    spent[0][2],
                    ends.speed(),
                );
            }
        }
    }
    Ok(())
}
