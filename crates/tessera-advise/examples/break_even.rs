//! From which round-trip time on does forward-secret early data pay off against a resumption with a key exchange?
//!
//! ```text
//! cargo run -p tessera-advise --example break_even            by the evidence that comes with the crate
//! cargo run -p tessera-advise --example break_even -- DIR     by reports of `tessera lab`
//! ```

use std::error::Error;
use std::path::Path;

use tessera_advise::break_even::{BreakEven, Conditions, Renewal, Ticket, gain_us, round_trip_ms};
use tessera_advise::evidence::{Evidence, KeyExchange, Letter, OneTimeKey, Way};

fn main() -> Result<(), Box<dyn Error>> {
    let evidence = match std::env::args().nth(1) {
        Some(directory) => Evidence::in_directory(Path::new(&directory))?,
        None => Evidence::embedded()?,
    };
    let through = evidence.through(134.0).ok_or("the evidence has no costs")?;
    let costs =
        |way| evidence.costs(way, through, Ticket::default()).ok_or("a way was not measured");
    let conditions = Conditions {
        round_trip_ms: 134.0,
        waiting_requests: 1.0,
        processor_price: 1.0,
        at_home: 1.0,
        ticket_lifetime_hours: 1.0,
        renewal: Renewal::Never,
    };
    for kx in [KeyExchange::X25519, KeyExchange::X25519MlKem768] {
        let baseline = Way::plain(Letter::C, Some(kx));
        let candidate = Way::forward_secret(OneTimeKey::from(kx), None);
        let (own, other) = (costs(candidate)?, costs(baseline)?);
        let from = match round_trip_ms(&own, &other, &conditions) {
            BreakEven::Always => "at any round-trip time".to_owned(),
            BreakEven::From(rtt) => format!("from {rtt:.3} ms on"),
            BreakEven::Never => "never".to_owned(),
        };
        let gain = gain_us(&own, &other, &conditions) / 1e3;
        println!("{candidate}, against {baseline}: pays {from}; gains {gain:.1} ms at 134 ms");
    }
    Ok(())
}
