//! Contradictions within one peer.

use std::time::Duration;

use http::Method;
use tessera_kit::ProgramError;

use super::wrong;
use crate::config::{Configuration, EarlyData, Peer, Reconnection};

pub(super) fn check(configuration: &Configuration) -> Result<(), ProgramError> {
    for (name, peer) in &configuration.peer {
        let found = of_peer(peer).or_else(|| of_reconnection(&peer.reconnection));
        if let Some((key, what)) = found {
            return wrong(format_args!("peer.{name}"), key, what);
        }
    }
    Ok(())
}

/// A key, and what is wrong with it.
type Contradiction = Option<(&'static str, &'static str)>;

fn of_peer(peer: &Peer) -> Contradiction {
    match (peer.address.is_empty(), &peer.srv) {
        (false, Some(_)) => {
            return Some(("srv", "`address` says where it is too: leave out either"));
        }
        (true, None) if peer.initiate => {
            return Some((
                "address",
                "this SEPP begins, and doesn't know where: name `address` or `srv`, or say `initiate = false`",
            ));
        }
        _ => (),
    }
    if peer.srv.as_deref().is_some_and(|name| !is_srv(name)) {
        return Some((
            "srv",
            "it takes a service and a domain, such as \"_n32c._tcp.example.org\"",
        ));
    }
    if peer.purposes.is_empty() {
        return Some(("purposes", "N32 for nothing: leave it out for [\"ROAMING\"]"));
    }
    if peer.keep_alive < Duration::from_secs(1) {
        return Some(("keep-alive", "N32-c tells it in whole seconds: at least 1"));
    }
    None
}

/// RFC 2782
fn is_srv(name: &str) -> bool {
    let mut labels = name.split('.');
    let mut is_service =
        || labels.next().is_some_and(|label| label.len() > 1 && label.starts_with('_'));
    is_service() && is_service() && labels.next().is_some_and(|label| !label.is_empty())
}

fn of_reconnection(it: &Reconnection) -> Contradiction {
    let takes_early = it.early_data == EarlyData::Fs || it.risky_replayable_early_data;
    if !it.resume {
        let without = [
            ("reconnection.early-data", it.early_data == EarlyData::Fs),
            ("reconnection.risky-psk-ke", it.risky_psk_ke),
            ("reconnection.risky-replayable-early-data", it.risky_replayable_early_data),
            ("reconnection.ticket-lifetime", it.ticket_lifetime.is_some()),
        ];
        if let Some((key, _)) = without.into_iter().find(|(_, is_set)| *is_set) {
            return Some((key, "it is for resumed connections, and `resume = false` allows none"));
        }
    }
    if it.early_data == EarlyData::Fs && it.risky_replayable_early_data {
        return Some((
            "reconnection.risky-replayable-early-data",
            "`early-data = \"fs\"` is the kind that can't be replayed: leave out either",
        ));
    }
    if it.early_methods.contains(&Method::POST) {
        return Some((
            "reconnection.early-methods",
            "POST is never early: it uses up vectors and makes sessions, and nobody could send it again",
        ));
    }
    if it.early_methods.iter().any(|method| !method.is_idempotent()) {
        return Some((
            "reconnection.early-methods",
            "only idempotent methods may be early (RFC 9110 §9.2.2): GET, HEAD, OPTIONS, PUT and DELETE",
        ));
    }
    if it.early_methods.is_empty() && takes_early {
        return Some((
            "reconnection.early-methods",
            "early data for no method: leave it out for [\"GET\"], or say `early-data = \"never\"`",
        ));
    }
    if !takes_early && it.early_methods != [Method::GET] {
        return Some((
            "reconnection.early-methods",
            "there is no early data: say `early-data = \"fs\"`, or leave it out",
        ));
    }
    if it.repeatable.iter().any(|operation| operation.method != Method::GET) {
        return Some((
            "reconnection.repeatable",
            "only GET is sent once more: other methods may change something each time",
        ));
    }
    match it.ticket_lifetime {
        Some(lifetime) if !is_lifetime(lifetime) => {
            Some(("reconnection.ticket-lifetime", LIFETIME))
        }
        _ => None,
    }
}

/// RFC 8446 §4.6.1
pub(super) fn is_lifetime(time: Duration) -> bool {
    (Duration::from_secs(1)..=Duration::from_secs(7 * 86_400)).contains(&time)
}

pub(super) const LIFETIME: &str = "a ticket lasts from 1 second to 7 days (RFC 8446 §4.6.1)";
