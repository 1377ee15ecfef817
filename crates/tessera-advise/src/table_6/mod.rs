//! Table 6 of Lastre et al. (Sensors 2025, 25(19), 6144) as a program: which way of reconnecting N32-f is acceptable,
//! judged by what an adversary achieved and not by a fixed list.

use std::fmt;

use serde::Serialize;

use crate::advice::{Measurement, cost_of, paragraph};
use crate::evidence::{
    Evidence, ForwardSecrecy, KeyExchange, Letter, OneTimeKey, Protection, Source, Way,
};
use crate::facts::Facts;

/// The table, ours next to the paper's.
#[derive(Clone, Debug, Serialize)]
pub struct Table6 {
    /// The round-trip time of its costs, in milliseconds.
    pub rtt_ms: f64,
    /// Its rows, in the paper's order.
    pub rows: Vec<Row>,
    /// The sources of the numbers.
    pub sources: Vec<Source>,
}

/// A row: N32-c begins with a full handshake and mutual TLS, and N32-f comes back like this.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The paper's name for it.
    pub reconnection: &'static str,
    /// The paper's judgement.
    pub paper: Judgement,
    /// The judgement by the evidence; `None` if no adversary attacked it.
    pub ours: Option<Judgement>,
    /// Its cost.
    pub cost: Vec<Measurement>,
}

/// A judgement of a way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// Acceptable or not.
    pub assessment: Assessment,
    /// The level of risk.
    pub risk: RiskLevel,
    /// Why.
    pub reason: String,
}

/// Whether a way is acceptable. The worse is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Assessment {
    /// It may be used.
    Acceptable,
    /// The paper's word for what it had not validated.
    Promising,
    /// It may be used under a condition that no protocol can enforce.
    Conditional,
    /// It should only be used if the owner accepts the risk by its name.
    Concerning,
}

/// The level of risk. The worse is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskLevel {
    /// Little.
    Low,
    /// Some, under a condition.
    Medium,
    /// Signalling of subscribers.
    High,
}

/// Computes the table from this evidence, with costs at this round-trip time in milliseconds.
#[must_use]
pub fn table_6(evidence: &Evidence, rtt_ms: f64) -> Table6 {
    use Assessment::{Acceptable, Concerning, Promising};
    use RiskLevel::{High, Low};
    let hybrid = Some(KeyExchange::X25519MlKem768);
    let [full, psk, psk_dhe, zero_rtt] = [
        Way::plain(Letter::A, hybrid),
        Way::plain(Letter::B, None),
        Way::plain(Letter::C, hybrid),
        Way::plain(Letter::D, hybrid),
    ];
    let forward_secret = Way::forward_secret(OneTimeKey::X25519MlKem768, hybrid);
    let rows: [(_, &[Way], _, _, _); 6] = [
        ("PSK", &[psk], Concerning, High, "Security downgrade, no PFS"),
        ("PSK-(EC)DHE", &[psk_dhe], Acceptable, Low, "Maintains forward secrecy"),
        ("0-RTT", &[zero_rtt], Concerning, High, "Replay vulnerabilities"),
        ("0-RTT FS", &[forward_secret], Promising, Low, "Requires validation"),
        // The combination was not measured: it has the flaws of both.
        ("PSK + 0-RTT", &[psk, zero_rtt], Concerning, High, "Mixed mode complexity"),
        ("full handshake", &[full], Acceptable, Low, "Maximum security, high latency"),
    ];
    let facts = Facts::at(rtt_ms);
    let rows = rows.map(|(reconnection, ways, assessment, risk, notes)| Row {
        reconnection,
        paper: Judgement { assessment, risk, reason: notes.to_owned() },
        ours: ways
            .iter()
            .map(|way| evidence.protection(*way).map(judge))
            .reduce(|one, other| Some(worse(one?, other?)))
            .flatten(),
        cost: ways.iter().flat_map(|way| cost_of(evidence, &facts, *way)).collect(),
    });
    Table6 { rtt_ms, rows: rows.into(), sources: evidence.sources.clone() }
}

/// Judges a way by what an adversary achieved.
#[must_use]
pub fn judge(found: &Protection) -> Judgement {
    let replayed = (found.executions > 1).then(|| {
        format!("one request was executed {} times when its flight was replayed", found.executions)
    });
    let (assessment, risk, secrecy) = match found.first_byte.max(found.session) {
        ForwardSecrecy::None if found.session == ForwardSecrecy::None => (
            Assessment::Concerning,
            RiskLevel::High,
            "no forward secrecy: a stolen ticket key opens whole sessions",
        ),
        ForwardSecrecy::None => (
            Assessment::Concerning,
            RiskLevel::High,
            "no forward secrecy of early data: a stolen ticket key opens it",
        ),
        ForwardSecrecy::FromDeletionByBoth => (
            Assessment::Conditional,
            RiskLevel::Medium,
            "forward-secret once both ends, and their backups, have deleted the PSK",
        ),
        ForwardSecrecy::FromEpochEnd => {
            (Assessment::Acceptable, RiskLevel::Low, "forward-secret from the end of the epoch on")
        }
        ForwardSecrecy::FromTakeOrExpiry => (
            Assessment::Acceptable,
            RiskLevel::Low,
            "forward-secret from the take or the key's expiry on, executed at most once; what it falls back to has the \
             fallback's guarantees",
        ),
        ForwardSecrecy::Handshake => {
            (Assessment::Acceptable, RiskLevel::Low, "forward-secret from the handshake on")
        }
    };
    match replayed {
        Some(replayed) => Judgement {
            assessment: assessment.max(Assessment::Concerning),
            risk: risk.max(RiskLevel::High),
            reason: format!("{replayed}; {secrecy}"),
        },
        None => Judgement { assessment, risk, reason: secrecy.to_owned() },
    }
}

/// Returns the worse of both, with the reasons of both.
fn worse(one: Judgement, other: Judgement) -> Judgement {
    Judgement {
        assessment: one.assessment.max(other.assessment),
        risk: one.risk.max(other.risk),
        reason: format!("{}; {}", one.reason, other.reason),
    }
}

impl fmt::Display for Table6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "N32-c: full handshake, mutual TLS. N32-f reconnects by (costs at a round-trip time of {} ms)",
            self.rtt_ms
        )?;
        for row in &self.rows {
            writeln!(f, "\n{}", row.reconnection)?;
            f.write_str(&paragraph(&format!("paper: {}", row.paper), "  "))?;
            let ours =
                row.ours.as_ref().map_or("it wasn't attacked".to_owned(), ToString::to_string);
            f.write_str(&paragraph(&format!("measured: {ours}"), "  "))?;
            if row.cost.is_empty() {
                writeln!(f, "    not measured at this round-trip time")?;
            }
            for cost in &row.cost {
                writeln!(f, "    {cost}")?;
            }
        }
        writeln!(f, "\nMeasured")?;
        self.sources.iter().try_for_each(|source| writeln!(f, "  {source}"))
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let assessment = match self.assessment {
            Assessment::Acceptable => "acceptable",
            Assessment::Promising => "promising",
            Assessment::Conditional => "conditional",
            Assessment::Concerning => "concerning",
        };
        let risk = match self.risk {
            RiskLevel::Low => "low",
            RiskLevel::Medium => "medium",
            RiskLevel::High => "high",
        };
        write!(f, "{assessment}, {risk} risk: {}", self.reason)
    }
}

#[cfg(test)]
mod tests;
