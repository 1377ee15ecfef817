//! `tessera sepp demo`: a subscriber registers abroad, connections are lost and resumed, and adversaries try what they
//! must not.
//!
//! | module | purpose |
//! |---|---|
//! | `stage` | three operators with a SEPP each, and an adversary on the path |
//! | `operator` | a SEPP as `tessera sepp run` runs it, and its counters |
//! | `functions` | NRF, AUSF and UDM of the home network |
//! | `registration` | the requests of an AMF abroad |
//! | `third` | an operator that tries what it must not |
//! | `trace` | the output |

mod functions;
mod operator;
mod registration;
mod stage;
mod third;
mod trace;

use std::sync::Arc;

use tessera_kit::ProgramError;
pub use tessera_proxy::demo::DemoOptions;
use tessera_proxy::demo::{self, Trace};

use self::registration::{AM_DATA, CONFIRMATION, REGISTRATION};
use self::stage::Stage;
use self::trace::{Actor, Outcome};

/// Runs the SEPPs of three operators on loopback: a registration from abroad, connections that resume, an adversary
/// that records a first flight and replays it, and an operator that tries what it must not. Reports on standard output
/// what happens, and ends by itself.
///
/// # Errors
/// If anything ends differently than it must, or a required resource isn't available.
pub fn demo(options: &DemoOptions) -> Result<(), ProgramError> {
    demo::run(options, tell)
}

/// Runs the story.
async fn tell(trace: &Arc<Trace>) -> Result<Outcome, ProgramError> {
    trace.explain(&format!(
        "A subscriber of 999-70 registers in 001-01 (local breakout). Each byte needs {} ms between their SEPPs.\n\n\
         \x20 AMF ── SEPP of 001-01 ══ ADVERSARY ══ SEPP of 999-70 ── NRF, AUSF, UDM\n\
         \x20                SEPP of 310-410, which misbehaves ══╝\n",
        stage::DELAY.as_millis()
    ));
    let mut stage = Stage::set(trace).await?;
    stage.agree().await?;

    trace.explain("\nThe registration: its first request opens the first N32-f connection.");
    for (index, transaction) in REGISTRATION.iter().enumerate() {
        stage.ask(transaction, index + 1).await?;
    }
    let full = stage.connection().await?;

    trace.explain("");
    stage.lose(Actor::VisitedSepp, "and comes back");
    stage.ask(&CONFIRMATION, 0).await?;
    let resumed = stage.connection().await?;

    trace.explain("");
    stage.opt_in()?;
    stage.ask(&CONFIRMATION, 0).await?;
    let again = stage.connection().await?;

    trace.explain("");
    stage.lose(Actor::VisitedSepp, "and a GET, which may be early here, opens another");
    stage.ask(&AM_DATA, 0).await?;
    let early = stage.connection().await?;
    stage.replay(&AM_DATA).await?;

    trace.explain(
        "\nAnother operator, 310-410: its certificate is valid, but its requests are not allowed.",
    );
    let attempts = third::attempts(&mut stage).await?;

    trace.explain("");
    stage.end([full, resumed, again, early], attempts).await
}
