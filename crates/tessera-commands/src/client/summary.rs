//! What a load measured.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use tessera_kit::ProgramError;
use tessera_kit::cached_certificates::ClientSums;
use tessera_kit::facts::micros;
use tessera_kit::report::Fact;

use crate::options::{ConnectOptions, Load, LoadMode};

/// The results of all connections.
#[derive(Default)]
pub(super) struct Outcome {
    /// From the start of the TCP connection to the end of the handshake, in microseconds.
    pub(super) latencies: Vec<u64>,
    pub(super) resumed: usize,
    pub(super) early_data_accepted: usize,
    /// How many did not begin as the mode requires.
    pub(super) not_as_asked: usize,
    /// How many had data accepted in the SYN.
    pub(super) begun_in_syn: usize,
    /// How certificates travelled.
    pub(super) certificates: ClientSums,
    pub(super) errors: BTreeMap<String, usize>,
}

/// The result of a load, as text and as JSON. Times are in microseconds.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    #[serde(serialize_with = "LoadMode::serialize_name")]
    mode: LoadMode,
    parallel: usize,
    completed: usize,
    failed: usize,
    resumed: usize,
    early_data_accepted: usize,
    not_as_asked: usize,
    /// How many had data accepted in the SYN; `None` without TCP Fast Open.
    begun_in_syn: Option<usize>,
    /// How certificates travelled; `None` if they are not cached.
    own_certificates_cached: Option<u64>,
    own_certificates_whole: Option<u64>,
    /// Why these were not cached.
    own_certificates_missed: Option<BTreeMap<&'static str, u64>>,
    peer_certificates_cached: Option<u64>,
    peer_certificates_whole: Option<u64>,
    peer_certificates_missed: Option<BTreeMap<&'static str, u64>>,
    certificate_bytes_saved: Option<u64>,
    total_micros: u64,
    handshakes_per_second: f64,
    /// From the start of the TCP connection to the end of the handshake.
    median_micros: Option<u64>,
    p95_micros: Option<u64>,
    p99_micros: Option<u64>,
    max_micros: Option<u64>,
    errors: BTreeMap<String, usize>,
}

impl Fact for Summary {
    const EVENT: &'static str = "load";
}

impl Summary {
    pub(super) fn new(
        options: &ConnectOptions,
        load: &Load,
        outcome: Outcome,
        total: Duration,
    ) -> Self {
        let Outcome { mut latencies, resumed, early_data_accepted, .. } = outcome;
        let Outcome { not_as_asked, begun_in_syn, certificates, errors, .. } = outcome;
        let caches = options.common.cache_certificates.is_some();
        let certificates = caches.then_some(certificates);
        let sum = |of: fn(&ClientSums) -> u64| certificates.as_ref().map(of);
        latencies.sort_unstable();
        let completed = latencies.len();
        Self {
            mode: load.mode,
            parallel: load.parallel,
            completed,
            failed: errors.values().sum(),
            resumed,
            early_data_accepted,
            not_as_asked,
            begun_in_syn: options.tcp_fast_open.then_some(begun_in_syn),
            own_certificates_cached: sum(|it| it.own_cached),
            own_certificates_whole: sum(|it| it.own_whole),
            peer_certificates_cached: sum(|it| it.peer_cached),
            peer_certificates_whole: sum(|it| it.peer_whole),
            certificate_bytes_saved: sum(|it| it.bytes_saved),
            own_certificates_missed: certificates.as_ref().map(|it| it.own_missed.clone()),
            peer_certificates_missed: certificates.map(|it| it.peer_missed),
            total_micros: micros(total),
            handshakes_per_second: completed as f64 / total.as_secs_f64().max(1e-9),
            median_micros: percentile(&latencies, 50),
            p95_micros: percentile(&latencies, 95),
            p99_micros: percentile(&latencies, 99),
            max_micros: latencies.last().copied(),
            errors,
        }
    }

    /// Fails unless every connection began as the mode requires: otherwise the load measured something else.
    pub(super) fn verdict(&self) -> Result<(), ProgramError> {
        let Self { completed, failed, not_as_asked, .. } = self;
        if *failed > 0 {
            let all = failed + completed;
            return Err(ProgramError::Failed(format!("{failed} of {all} connections failed")));
        }
        if *not_as_asked > 0 {
            return Err(ProgramError::Failed(format!(
                "{not_as_asked} of {completed} connections did not begin as --mode {} requires; {}",
                self.mode.name(),
                self.mode.what_it_takes()
            )));
        }
        Ok(())
    }
}

impl LoadMode {
    /// Returns the mode's name on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::PskDhe => "psk-dhe",
            Self::PskOnly => "psk-only",
            Self::ZeroRtt => "0rtt",
            Self::ZeroRttFs => "0rtt-fs",
        }
    }

    /// Returns what the server must allow.
    fn what_it_takes(self) -> &'static str {
        match self {
            Self::Full => "the server must not resume",
            Self::PskDhe => {
                "the server must accept its own tickets, with a key exchange: it may have been restarted, or be \
                 several that share no ticket keys"
            }
            Self::PskOnly => {
                "the server must allow tickets without a key exchange: --psk-only-without-forward-secrecy \
                 at `tessera serve`"
            }
            Self::ZeroRtt => {
                "the server must accept replayable early data: \
                 --replayable-early-data-without-forward-secrecy at `tessera serve`"
            }
            Self::ZeroRttFs => {
                "the server must accept forward-secret early data: --forward-secret-early-data at \
                 `tessera serve`"
            }
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn serialize_name<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Returns the smallest value that at least this percentage of all values don't exceed.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}

/// As a table.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.completed.max(1) as f64;
        let share = |count: usize| format!("{:.1} %", 100.0 * count as f64 / all);
        let time = |micros: Option<u64>| match micros {
            Some(micros) => format!("{:.2} ms", micros as f64 / 1e3),
            None => "-".to_owned(),
        };
        let mut row = |name: &str, value: String| writeln!(f, "{name:<22}{value:>14}");
        row("mode", self.mode.name().to_owned())?;
        row("at a time", self.parallel.to_string())?;
        row("connections", self.completed.to_string())?;
        row("handshakes a second", format!("{:.0}", self.handshakes_per_second))?;
        row("latency, median", time(self.median_micros))?;
        row("latency, p95", time(self.p95_micros))?;
        row("latency, p99", time(self.p99_micros))?;
        row("latency, longest", time(self.max_micros))?;
        row("resumed", share(self.resumed))?;
        if matches!(self.mode, LoadMode::ZeroRtt | LoadMode::ZeroRttFs) {
            row("early data accepted", share(self.early_data_accepted))?;
        }
        if let Some(count) = self.begun_in_syn {
            row("begun in the SYN", share(count))?;
        }
        let own = [self.own_certificates_cached, self.own_certificates_whole];
        // A client without a certificate has none to send.
        let [own_cached, own_whole] =
            if own.iter().flatten().sum::<u64>() > 0 { own } else { [None; 2] };
        let certificates = [
            ("own as a hash", own_cached),
            ("own whole", own_whole),
            ("server's as a hash", self.peer_certificates_cached),
            ("server's whole", self.peer_certificates_whole),
            ("bytes saved by hashes", self.certificate_bytes_saved),
        ];
        for (name, count) in certificates {
            if let Some(count) = count {
                row(name, count.to_string())?;
            }
        }
        for (whose, missed) in
            [("own", &self.own_certificates_missed), ("server's", &self.peer_certificates_missed)]
        {
            for (why, count) in missed.iter().flatten() {
                row(&format!("{whose}: {why}"), count.to_string())?;
            }
        }
        if self.not_as_asked > 0 {
            row("not as the mode asks", share(self.not_as_asked))?;
        }
        write!(f, "{:<22}{:>14}", "errors", self.failed)?;
        for (error, count) in &self.errors {
            write!(f, "\n{count:>8} x {error}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentiles_of_a_summary_are_measured_values() {
        let sorted: Vec<u64> = (1..=200).collect();
        assert_eq!(percentile(&sorted, 50), Some(100));
        assert_eq!(percentile(&sorted, 99), Some(198));
        assert_eq!(percentile(&[7], 99), Some(7));
        assert_eq!(percentile(&[], 50), None);
    }
}
