//! A cell of the experiment `roaming` through two SEPPs.

use std::collections::BTreeMap;

use tessera_link::LinkParameters;

use super::registration::LOCAL_BREAKOUT;
use super::{SeppPair, SeppSample};
use crate::bench::WARM_UP;
use crate::error::LabError;
use crate::roaming::report::{Bytes, Cell, CellName, Registration, RoundTrips, Sample, Sides};
use crate::statistics::Median;

impl SeppPair<'_> {
    /// Measures this many reconnections over a link of these parameters, each with a registration; `done` is called
    /// after each. One that fails, or is not of the option, is counted with its reason and has no sample.
    ///
    /// What stands in a sample: `first_byte_us` until the home network's function has the first request, `response_us`
    /// until the visited network's function has its answer, and the processor time of both SEPPs until then. All
    /// else is within the SEPPs, and absent.
    ///
    /// # Errors
    /// If the pair is of no use any more.
    pub(crate) fn cell(
        &mut self,
        name: CellName,
        parameters: &LinkParameters,
        repetitions: usize,
        done: impl Fn(),
    ) -> Result<Cell, LabError> {
        self.set_link(parameters)?;
        let (mut samples, mut why_failed) = (Vec::new(), BTreeMap::<String, u32>::new());
        for repetition in 0..WARM_UP + repetitions {
            let reconnected = self.reconnect();
            match reconnected {
                Ok(_) | Err(LabError::Connection(_)) if repetition < WARM_UP => continue,
                Ok(sample) => samples.push(sample),
                Err(LabError::Connection(why)) => *why_failed.entry(why).or_default() += 1,
                Err(error) => return Err(error),
            }
            done();
        }
        Ok(Cell {
            name,
            failed: why_failed.values().sum(),
            why_failed,
            round_trips: round_trips(&samples, parameters),
            // The SEPPs' connection is not seen from outside.
            bytes: Bytes::default(),
            operations: Sides::default(),
            issuing: None,
            registration: Some(Registration {
                samples_us: samples.iter().map(|sample| sample.registration_us).collect(),
                exchanges: LOCAL_BREAKOUT.len() as u32,
            }),
            samples: samples.iter().map(of).collect(),
        })
    }
}

fn of(sample: &SeppSample) -> Sample {
    Sample {
        first_byte_us: Some(sample.send_us),
        response_us: Some(sample.first_response_us()),
        client_cpu_us: Some(sample.visited.first_cpu_us),
        server_cpu_us: Some(sample.home.first_cpu_us),
        ..Sample::default()
    }
}

fn round_trips(samples: &[SeppSample], parameters: &LinkParameters) -> RoundTrips {
    let rtt_us = parameters.rtt.as_secs_f64() * 1e6;
    let of = |value: fn(&SeppSample) -> f64| {
        let median = Median::of(samples.iter().map(value)).filter(|_| rtt_us > 0.0);
        median.map(|median| median.value / rtt_us)
    };
    RoundTrips {
        first_byte: of(|sample| sample.send_us),
        response: of(SeppSample::first_response_us),
    }
}
