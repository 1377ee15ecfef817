//! Rules ways out, whatever their cost.

use crate::evidence::{
    Continuation, Evidence, ForwardSecrecy, KeyExchange, Letter, OneTimeKey, Way,
};
use crate::facts::{Application, EarlyRequests, Facts, Need, PeerTls, Risk};

use super::memory::held_bytes;
use super::numbers::milliseconds;
use super::price::WayCost;

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
        return by(
            "evidence",
            "with a register of used tickets it is (d'), and without one no deployment needs it",
        );
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
        (Application::Sepp, Letter::DSingleUse) => {
            ("a SEPP", Some("accepts such early data, but sends none: it would resume as in (c)"))
        }
        (Application::Sepp, _) => {
            ("a SEPP", is_psk_ke.then_some("continues with psk_dhe_ke after early data"))
        }
        (Application::Tunnel, Letter::B) => ("a tunnel", Some("has no psk_ke without early data")),
        (Application::Tunnel, Letter::DSingleUse) => {
            ("a tunnel", Some("has no replayable early data"))
        }
        (Application::Tunnel, _) => ("a tunnel", None),
    };
    let hybrid_key = way.ticket_key.is_none_or(|key| key == OneTimeKey::X25519MlKem768);
    let is_hybrid = hybrid_key && way.kx != Some(KeyExchange::X25519);
    let classical = (!is_hybrid).then_some("uses X25519MLKEM768 if both ends have it");
    let refused = refused.or(classical)?;
    by("application", format!("{name} {refused}"))
}

fn by_peer(facts: &Facts, way: Way) -> Option<Exclusion> {
    if way.option == Letter::A {
        return None;
    }
    if facts.fresh_certificates {
        return by(
            "fresh-certificates",
            "a ticket stands for the certificates of an earlier connection",
        );
    }
    match (facts.peer_tls, way.option) {
        (PeerTls::StockWithoutTickets, _) => by("peer-tls", "the peer has no tickets"),
        (PeerTls::Stock, Letter::E) => {
            by("peer-tls", "both ends must follow docs/0rtt-fs.md; a stock peer resumes as in (c)")
        }
        _ => None,
    }
}

fn by_requests(facts: &Facts, way: Way) -> Option<Exclusion> {
    if way.option.has_early_data() && facts.early_requests == EarlyRequests::None {
        return by("early-requests", "no request may go with the first flight");
    }
    if way.ticket_key == Some(OneTimeKey::Psk) && !facts.deletes_one_time_psks {
        return by(
            "deletes-one-time-psks",
            "a one-time PSK is forward-secret only as far as both ends, and their backups, delete it",
        );
    }
    None
}

fn by_protection(evidence: &Evidence, facts: &Facts, way: Way) -> Option<Exclusion> {
    let Some(found) = evidence.protection(way) else {
        return by("evidence", "no adversary was measured against it");
    };
    if found.session == ForwardSecrecy::None {
        if facts.forward_secrecy != Need::NotNeeded {
            return by(
                "forward-secrecy",
                "an attacker who steals a ticket key later reads the whole session",
            );
        }
        if !facts.accept(Risk::NoForwardSecrecy) {
            return by("accept-risk", "no-forward-secrecy wasn't accepted");
        }
    } else if found.first_byte == ForwardSecrecy::None {
        if facts.forward_secrecy == Need::Always {
            return by(
                "forward-secrecy",
                "an attacker who steals a ticket key later reads the early data",
            );
        }
        if !facts.accept(Risk::EarlyDataWithoutForwardSecrecy) {
            return by("accept-risk", "early-data-without-forward-secrecy wasn't accepted");
        }
    }
    let registers = registers(facts, way);
    if found.executions > 1 || registers.is_some() {
        let mut times = format!("the adversary had one request executed {}×", found.executions);
        if let Some(servers) = registers {
            times += &format!(" by one server, and each of {servers} has its own register");
        }
        if facts.early_requests != EarlyRequests::Repeatable {
            return by("early-requests", times);
        }
        if !facts.accept(Risk::Replay) {
            return by("accept-risk", format!("{times}, and replay wasn't accepted"));
        }
    }
    if facts.post_quantum && !found.post_quantum {
        return by("post-quantum", "a quantum computer opens recordings of it");
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
        return by(
            "accept-risk",
            "an attacker who reads the server's vault before a flight arrives reads the whole connection, and \
             early-key-exchange wasn't accepted",
        );
    }
    None
}

fn by_limits(evidence: &Evidence, facts: &Facts, way: Way) -> Option<Exclusion> {
    if let Some(over_us) = over_processor_limit(evidence, facts, way) {
        return by(
            "server-processor",
            format!("the server computes {} longer than allowed", milliseconds(over_us)),
        );
    }
    if let (Some(limit), Some(each)) = (facts.ticket_memory, held_bytes(evidence, way))
        && each * facts.connections > limit
    {
        let because = format!("the server holds {each:.0} bytes for each connection");
        return by("ticket-memory", because);
    }
    if let Some(store) = facts.store_round_trip_ms
        && way.option == Letter::E
        && store >= facts.round_trip_ms
    {
        return by(
            "store-round-trip",
            "a take waits for the store as long as the round trip that it saves",
        );
    }
    None
}
