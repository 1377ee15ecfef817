//! Facts that contradict each other.

use super::{EarlyRequests, Facts, Need, PeerTls, Risk, SharedStore};

/// Returns the first contradiction: the key to change, and what to do. `given` returns whether a fact is set, rather
/// than a default.
pub(super) fn find(facts: &Facts, given: impl Fn(&str) -> bool) -> Option<(&'static str, String)> {
    let found =
        of_early_data(facts).or_else(|| of_risks(facts)).or_else(|| of_stores(facts, &given));
    of_resumption(facts, &given).or_else(|| found.map(|(key, what)| (key, what.to_owned())))
}

type Contradiction = Option<(&'static str, &'static str)>;

/// Facts about tickets, when there are none.
fn of_resumption(facts: &Facts, given: impl Fn(&str) -> bool) -> Option<(&'static str, String)> {
    let (why, instead) = match (facts.fresh_certificates, facts.peer_tls) {
        (true, _) => ("fresh-certificates = true", "fresh-certificates = false"),
        (_, PeerTls::StockWithoutTickets) => {
            ("peer-tls = \"stock-without-tickets\"", "peer-tls = \"stock\"")
        }
        _ => return None,
    };
    let about_tickets = [
        ("longest-ticket-lifetime", given("longest-ticket-lifetime"), "no ticket lives"),
        ("accept-risk", !facts.accept_risk.is_empty(), "nothing of that is risked"),
        ("shared-store", facts.shared_store != SharedStore::None, "servers have nothing to share"),
        ("ticket-memory", facts.ticket_memory.is_some(), "no ticket is held"),
    ];
    let (key, _, so) = about_tickets.into_iter().find(|(_, is_there, _)| *is_there)?;
    let what = format!("with {why} nothing resumes, so {so}; leave this out, or set {instead}");
    Some((key, what))
}

fn of_early_data(facts: &Facts) -> Contradiction {
    if facts.deletes_one_time_psks && facts.peer_tls != PeerTls::Tessera {
        return Some((
            "deletes-one-time-psks",
            "a stock peer has no one-time PSKs; leave this out, or set peer-tls = \"tessera\"",
        ));
    }
    if facts.deletes_one_time_psks && facts.early_requests == EarlyRequests::None {
        return Some((
            "deletes-one-time-psks",
            "one-time PSKs are for early data, and early-requests = \"none\" has none; leave this out, or set it to \
             the requests that may be early",
        ));
    }
    if facts.early_requests == EarlyRequests::None {
        return None;
    }
    if facts.fresh_certificates {
        return Some((
            "early-requests",
            "early data comes before any certificate, under a ticket; set early-requests = \"none\", or \
             fresh-certificates = false",
        ));
    }
    if facts.peer_tls == PeerTls::StockWithoutTickets {
        return Some((
            "early-requests",
            "early data comes under a ticket, and peer-tls = \"stock-without-tickets\" has none; set early-requests = \
             \"none\", or another peer-tls",
        ));
    }
    None
}

fn of_risks(facts: &Facts) -> Contradiction {
    let accepted = |risk| facts.accept(risk);
    if accepted(Risk::NoForwardSecrecy) && facts.forward_secrecy != Need::NotNeeded {
        return Some((
            "accept-risk",
            "no-forward-secrecy is accepted here, but forward-secrecy requires it; leave the risk out, or set \
             forward-secrecy = \"not-needed\"",
        ));
    }
    if accepted(Risk::EarlyDataWithoutForwardSecrecy) && facts.forward_secrecy == Need::Always {
        return Some((
            "accept-risk",
            "early-data-without-forward-secrecy is accepted here, but forward-secrecy = \"always\" rules it out; \
             leave the risk out, or set forward-secrecy = \"after-handshake\"",
        ));
    }
    if accepted(Risk::EarlyDataWithoutForwardSecrecy) && facts.early_requests == EarlyRequests::None
    {
        return Some((
            "accept-risk",
            "early-data-without-forward-secrecy is a risk of early data, and early-requests = \"none\" has none; \
             leave the risk out, or set it to the requests that may be early",
        ));
    }
    if accepted(Risk::EarlyKeyExchange) && facts.early_requests == EarlyRequests::None {
        return Some((
            "accept-risk",
            "early-key-exchange is a risk of forward-secret early data, and early-requests = \"none\" has none; leave \
             the risk out, or set it to the requests that may be early",
        ));
    }
    if accepted(Risk::Replay) && facts.early_requests != EarlyRequests::Repeatable {
        return Some((
            "accept-risk",
            "replay is accepted here, but early-requests doesn't allow processing requests many times; leave the risk \
             out, or set early-requests = \"repeatable\"",
        ));
    }
    None
}

fn of_stores(facts: &Facts, given: impl Fn(&str) -> bool) -> Contradiction {
    if facts.same_server && facts.servers == 1.0 {
        return Some((
            "same-server",
            "there is one server to return to; leave this out, or set the number of servers",
        ));
    }
    match (facts.shared_store, facts.store_round_trip_ms) {
        (SharedStore::None, Some(_)) => Some((
            "store-round-trip",
            "there is no shared store; set shared-store = \"etcd\", or leave this out",
        )),
        (SharedStore::Etcd, None) => Some((
            "store-round-trip",
            "a take waits for the shared store, so its round trip counts; set it (0.5ms in one data centre)",
        )),
        (SharedStore::Etcd, _) if given("servers") && facts.servers == 1.0 => Some((
            "shared-store",
            "a single server shares with no other, and each take would wait for the store; leave this out, or set the \
             number of servers",
        )),
        _ => None,
    }
}
