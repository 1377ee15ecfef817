//! The time of each operation of a reconnection. Timed connections are slower, so they are separate from the samples.

use std::collections::VecDeque;

use tessera_observed::{OperationTime, TimedEnd};
use tessera_reports::Sides;
use tessera_reports::roaming::Operation;

use super::Ends;
use super::typical::typical;
use crate::bench::check;
use crate::endpoint::Result;
use crate::in_memory::connect;
use crate::ways::Way;

/// The most reconnections that are timed.
const TIMED: usize = 50;

/// The timers of both ends: one for all cells, for each leaks a little.
pub(in crate::roaming) struct Timers {
    pub(super) client: TimedEnd,
    pub(super) server: TimedEnd,
}

impl Timers {
    pub(in crate::roaming) fn new() -> Self {
        Self { client: TimedEnd::new(), server: TimedEnd::new() }
    }
}

/// Times the operations of further reconnections, up to this many.
pub(super) fn of_a_reconnection(
    ends: &Ends,
    timers: &Timers,
    way: Way,
    repetitions: usize,
) -> Result<Sides<Vec<Operation>>> {
    let timed = repetitions.min(TIMED);
    let mut tickets = VecDeque::new();
    if way.mode.resumes() {
        ends.collect(timed, &mut tickets)?;
    }
    let (mut client, mut server) = (Vec::new(), Vec::new());
    // Discard the operations of making the configurations.
    timers.client.take();
    timers.server.take();
    for _ in 0..timed {
        let (client_config, server_config) = ends.timed.clone();
        let made = connect(client_config, server_config, tickets.pop_front(), 0)?;
        check(way, &made.client.observed, &made.server.observed)?;
        client.push(timers.client.take());
        server.push(timers.server.take());
    }
    Ok(Sides { client: operations(&client), server: operations(&server) })
}

fn operations(connections: &[Vec<OperationTime>]) -> Vec<Operation> {
    let operation = |it: OperationTime| Operation {
        operation: it.operation.name().to_owned(),
        count: it.count as f64,
        us: it.us,
    };
    typical(connections).into_iter().map(operation).collect()
}
