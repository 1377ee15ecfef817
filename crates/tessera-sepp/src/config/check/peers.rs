//! Contradictions within one peer.

use std::time::Duration;

use http::Method;
use tessera_kit::ProgramError;
use tessera_proxy::config::{Contradiction, wrong};

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

fn of_peer(peer: &Peer) -> Contradiction {
    match (peer.address.is_empty(), &peer.srv) {
        (false, Some(_)) => {
            return Some(("srv", "conflicts with `address`: remove one of them"));
        }
        (true, None) if peer.initiate => {
            return Some((
                "address",
                "no address to connect to: set `address` or `srv`, or `initiate = false`",
            ));
        }
        _ => (),
    }
    if peer.srv.as_deref().is_some_and(|name| !is_srv(name)) {
        return Some(("srv", "must be a service and a domain, such as \"_n32c._tcp.example.org\""));
    }
    if peer.purposes.is_empty() {
        return Some((
            "purposes",
            "must not be empty: remove the key for the default, [\"ROAMING\"]",
        ));
    }
    if peer.keep_alive < Duration::from_secs(1) {
        return Some((
            "keep-alive",
            "must be at least 1 second: N32-c exchanges it in whole seconds",
        ));
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
            return Some((
                key,
                "needs resumption, which `resume = false` turns off: remove one of them",
            ));
        }
    }
    if it.early_data == EarlyData::Fs && it.risky_replayable_early_data {
        return Some((
            "reconnection.risky-replayable-early-data",
            "conflicts with `early-data = \"fs\"`, which can't be replayed: remove one of them",
        ));
    }
    if it.early_methods.contains(&Method::POST) {
        return Some((
            "reconnection.early-methods",
            "POST is never sent early: it consumes vectors and creates sessions, so it can't be sent again",
        ));
    }
    if it.early_methods.iter().any(|method| !method.is_idempotent()) {
        return Some((
            "reconnection.early-methods",
            "only idempotent methods may be sent early (RFC 9110 §9.2.2): GET, HEAD, OPTIONS, PUT and DELETE",
        ));
    }
    if it.early_methods.is_empty() && takes_early {
        return Some((
            "reconnection.early-methods",
            "must not be empty: remove the key for the default, [\"GET\"], or set `early-data = \"never\"`",
        ));
    }
    if !takes_early && it.early_methods != [Method::GET] {
        return Some((
            "reconnection.early-methods",
            "has no effect without early data: set `early-data = \"fs\"`, or remove the key",
        ));
    }
    if it.repeatable.iter().any(|operation| operation.method != Method::GET) {
        return Some((
            "reconnection.repeatable",
            "only GET can be sent again: other methods may change something each time",
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

pub(super) const LIFETIME: &str = "must be from 1 second to 7 days (RFC 8446 §4.6.1)";
