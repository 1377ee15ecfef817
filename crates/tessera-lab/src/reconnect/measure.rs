//! Measures one row: first sessions, then the adversary, then times.

use tessera_link::LinkParameters;
use tessera_reports::reconnect::{Row, SynData};
use tessera_reports::{Sample, Sides};

use crate::bench::{Bench, Pair, WARM_UP, check};
use crate::control::{ClientOrder, Cost};
use crate::error::LabError;
use crate::heap::IS_COUNTED;
use crate::statistics::median_count;
use crate::ways::Way;

impl Bench {
    /// Measures a way over a link of these parameters; `done` is called after each repetition.
    pub(crate) fn row(
        &mut self,
        way: Way,
        parameters: &LinkParameters,
        repetitions: usize,
        done: impl Fn(),
    ) -> Result<Row, LabError> {
        // Steps that are not measured use a link without delay.
        self.set_link(&LinkParameters::default())?;
        self.prepare(way, 2, true)?;
        let raced = self.race()?;
        let mut attack = self.attack()?;
        attack.executions = attack.executions.max(raced);
        self.prepare(way, repetitions + WARM_UP, false)?;

        self.set_link(parameters)?;
        let mut pairs = Vec::with_capacity(repetitions);
        for repetition in 0..WARM_UP + repetitions {
            let pair = self.connect(&ClientOrder::Connect(self.address))?;
            check(way, &pair.client.observed, &pair.server.observed)?;
            if repetition >= WARM_UP {
                pairs.push(pair);
                done();
            }
        }
        let fast_open = if way.fast_open { Some(in_syn(&pairs)?) } else { None };
        let observed = pairs.first().map(|pair| pair.client.observed).unwrap_or_default();
        Ok(Row {
            mode: way.mode,
            kx: way.kx,
            ticket_key: way.ticket_key,
            continuation: way.continuation,
            fast_open,
            rtt_ms: parameters.rtt.as_secs_f64() * 1e3,
            samples: pairs.iter().map(sample).collect::<Result<_, _>>()?,
            first_flight: median(&pairs, |pair| pair.client.first_flight as f64),
            bytes: sides(&pairs, |cost| cost.sent as f64),
            heap: IS_COUNTED.then(|| sides(&pairs, |cost| cost.heap.unwrap_or_default() as f64)),
            verdicts: attack.verdicts(&observed),
        })
    }
}

/// Returns the times of a connection, without the latencies that this report lacks.
fn sample(pair: &Pair) -> Result<Sample, LabError> {
    Ok(Sample { send_us: None, receive_us: None, ..pair.sample()? })
}

/// Summarises what the SYNs carried. A row without any data in SYNs would be one without TCP Fast Open.
fn in_syn(pairs: &[Pair]) -> Result<SynData, LabError> {
    let taken = pairs.iter().filter(|pair| pair.client.syn_taken).count();
    if taken == 0 {
        return Err(LabError::Connection(
            "no SYN brought data to the server: does something on the link drop them?".to_owned(),
        ));
    }
    Ok(SynData { bytes: median(pairs, |pair| pair.client.syn_bytes as f64), taken })
}

fn median(pairs: &[Pair], value: impl Fn(&Pair) -> f64) -> u64 {
    median_count(pairs.iter().map(value)).unwrap_or_default()
}

/// Returns the median of something at each side.
fn sides(pairs: &[Pair], value: impl Fn(&Cost) -> f64) -> Sides<u64> {
    Sides {
        client: median(pairs, |pair| value(&pair.client.cost)),
        server: median(pairs, |pair| value(&pair.server.cost)),
    }
}
