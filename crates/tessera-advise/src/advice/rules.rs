//! Rules ways out, whatever their cost.

use crate::evidence::{
    Continuation, Evidence, ForwardSecrecy, KeyExchange, Letter, OneTimeKey, Way,
};
use crate::facts::{Application, EarlyRequests, Facts, Need, PeerTls, Risk};

use super::memory::held_bytes;
use super::numbers::milliseconds;
use super::price::WayCost;
use super::sentences::{self as say, fill};

/// Why a way doesn't fit a deployment: the fact that rules it out, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exclusion {
    pub(super) fact: &'static str,
    pub(super) because: String,
}

fn by(fact: &'static str, because: impl Into<String>) -> Option<Exclusion> {
    Some(Exclusion { fact, because: because.into() })
}

/// Returns the first fact that rules a way out; `None` if it is permitted. A way without an adversary's results is
/// never permitted.
pub(super) fn ruled_out(evidence: &Evidence, facts: &Facts, way: Way) -> Option<Exclusion> {
    if way.option == Letter::D {
        // The lab only has it for the adversary.
        return by("evidence", say::NO_REGISTER);
    }
    by_peer(facts, way)
        .or_else(|| by_requests(facts, way))
        .or_else(|| by_protection(evidence, facts, way))
        .or_else(|| by_application(facts, way))
        .or_else(|| by_continuation(facts, way))
        .or_else(|| by_limits(evidence, facts, way))
}

/// Rules out what `tessera sepp` and `tessera tunnel` don't do, or have no setting for: docs/sepp.md, docs/tunnel.md.
fn by_application(facts: &Facts, way: Way) -> Option<Exclusion> {
    let is_psk_ke = way.option == Letter::E && way.continuation == Some(Continuation::PskKe);
    let (name, refused) = match (facts.application, way.option) {
        (Application::Own, _) => return None,
        (Application::Sepp, Letter::DSingleUse) => ("a SEPP", Some(say::SENDS_NONE)),
        (Application::Sepp, _) => ("a SEPP", is_psk_ke.then_some(say::CONTINUES_WITH_DHE)),
        (Application::Tunnel, Letter::B) => ("a tunnel", Some(say::NO_PSK_KE)),
        (Application::Tunnel, Letter::DSingleUse) => ("a tunnel", Some(say::NO_REPLAYABLE)),
        (Application::Tunnel, _) => ("a tunnel", None),
    };
    let hybrid_key = way.ticket_key.is_none_or(|key| key == OneTimeKey::X25519MlKem768);
    let is_hybrid = hybrid_key && way.kx != Some(KeyExchange::X25519);
    let classical = (!is_hybrid).then_some(say::IS_HYBRID);
    let refused = refused.or(classical)?;
    by("application", format!("{name} {refused}"))
}

fn by_peer(facts: &Facts, way: Way) -> Option<Exclusion> {
    if way.option == Letter::A {
        return None;
    }
    if facts.fresh_certificates {
        return by("fresh-certificates", say::EARLIER_CERTIFICATES);
    }
    match (facts.peer_tls, way.option) {
        (PeerTls::StockWithoutTickets, _) => by("peer-tls", say::NO_TICKETS),
        (PeerTls::Stock, Letter::E) => by("peer-tls", say::STOCK_PEER),
        _ => None,
    }
}

fn by_requests(facts: &Facts, way: Way) -> Option<Exclusion> {
    if way.option.has_early_data() && facts.early_requests == EarlyRequests::None {
        return by("early-requests", say::NO_EARLY_REQUEST);
    }
    if way.ticket_key == Some(OneTimeKey::Psk) && !facts.deletes_one_time_psks {
        return by("deletes-one-time-psks", say::PSK_KEPT);
    }
    None
}

fn by_protection(evidence: &Evidence, facts: &Facts, way: Way) -> Option<Exclusion> {
    let Some(found) = evidence.protection(way) else {
        return by("evidence", say::NO_ADVERSARY);
    };
    if found.session == ForwardSecrecy::None {
        if facts.forward_secrecy != Need::NotNeeded {
            return by("forward-secrecy", say::OPENS_SESSION);
        }
        if !facts.accept(Risk::NoForwardSecrecy) {
            return by("accept-risk", say::NOT_ACCEPTED_SECRECY);
        }
    } else if found.first_byte == ForwardSecrecy::None {
        if facts.forward_secrecy == Need::Always {
            return by("forward-secrecy", say::OPENS_EARLY_DATA);
        }
        if !facts.accept(Risk::EarlyDataWithoutForwardSecrecy) {
            return by("accept-risk", say::NOT_ACCEPTED_EARLY_DATA);
        }
    }
    let registers = registers(facts, way);
    if found.executions > 1 || registers.is_some() {
        let mut times = fill(say::EXECUTED, &[&found.executions]);
        if let Some(servers) = registers {
            times += &fill(say::OWN_REGISTERS, &[&servers]);
        }
        if facts.early_requests != EarlyRequests::Repeatable {
            return by("early-requests", times);
        }
        if !facts.accept(Risk::Replay) {
            return by("accept-risk", times + say::NOT_ACCEPTED_REPLAY);
        }
    }
    if facts.post_quantum && !found.post_quantum {
        return by("post-quantum", say::QUANTUM_OPENS_IT);
    }
    None
}

/// Returns the number of servers that each remember only the tickets that they accepted, if there are several: an
/// adversary may replay one flight to each, and only one was measured.
pub(super) fn registers(facts: &Facts, way: Way) -> Option<f64> {
    (way.option == Letter::DSingleUse && facts.servers > 1.0).then_some(facts.servers)
}

/// Returns by how many microseconds a way exceeds the server's limit of processor time. This includes a full handshake,
/// though every way falls back to it; otherwise cheaper ways would be ruled out, and the most expensive would be the
/// answer.
pub(super) fn over_processor_limit(evidence: &Evidence, facts: &Facts, way: Way) -> Option<f64> {
    let over_us = WayCost::of(evidence, facts, way)?.server_us - facts.server_processor_us?;
    (over_us > 0.0).then_some(over_us)
}

/// docs/0rtt-fs.md 7.2: after psk_ke the whole connection is only as secure as its early data.
fn by_continuation(facts: &Facts, way: Way) -> Option<Exclusion> {
    let is_psk_ke = way.option == Letter::E && way.continuation == Some(Continuation::PskKe);
    if is_psk_ke && !facts.accept(Risk::EarlyKeyExchange) {
        return by("accept-risk", say::NOT_ACCEPTED_KEY_EXCHANGE);
    }
    None
}

fn by_limits(evidence: &Evidence, facts: &Facts, way: Way) -> Option<Exclusion> {
    if let Some(over_us) = over_processor_limit(evidence, facts, way) {
        return by("server-processor", fill(say::TOO_LONG, &[&milliseconds(over_us)]));
    }
    if let (Some(limit), Some(each)) = (facts.ticket_memory, held_bytes(evidence, way))
        && each * facts.connections > limit
    {
        return by("ticket-memory", fill(say::HOLDS, &[&format_args!("{each:.0}")]));
    }
    if let Some(store) = facts.store_round_trip_ms
        && way.option == Letter::E
        && store >= facts.round_trip_ms
    {
        return by("store-round-trip", say::STORE_TOO_FAR);
    }
    None
}
