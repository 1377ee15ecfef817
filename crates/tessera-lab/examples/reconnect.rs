//! Runs the experiment `reconnect` from another program: three ways, over whatever link this machine allows.
//!
//! ```text
//! cargo run --release -p tessera-lab --example reconnect
//! ```
//!
//! The two ends are separate processes: the same program, started again with [`endpoint::ARGUMENTS`].

use std::error::Error;

use tessera_lab::{Mode, Options, endpoint, reconnect};
use tessera_link::{End, LinkKind, LinkParameters};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some([end]) = arguments.strip_prefix(&endpoint::ARGUMENTS.map(String::from)) {
        let ends = [End::Client, End::Server];
        let end = ends.into_iter().find(|it| endpoint::name(*it) == end).ok_or("no such end")?;
        // The secrets of an experiment need no protection: nothing guards them.
        return Ok(endpoint::run(end, || ())?);
    }
    reconnect::run(&Options {
        repetitions: 5,
        rtts: None,
        link: LinkKind::Auto,
        parameters: LinkParameters::default(),
        fast_open: false,
        modes: vec![Mode::Full, Mode::PskDhe, Mode::ZeroRttFs],
        json: None,
        page: None,
    })?;
    Ok(())
}
