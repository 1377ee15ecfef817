//! The server's memory for a ticket until it is used or expires.

use crate::evidence::{Evidence, OneTimeKey, Store, Way};

/// Returns the bytes in the server's memory for each ticket: from the load with the most tickets, where the rest of the
/// heap matters least; otherwise those of docs/vaults.md, which `memory-vault` in `bench/` measured. Sealed tickets are
/// stored at the client, and etcd's members hold their own.
pub(super) fn held_bytes(evidence: &Evidence, way: Way) -> Option<f64> {
    let key = way.ticket_key?;
    if way.store == Store::Etcd {
        return None;
    }
    let measured = evidence
        .loads
        .iter()
        .filter(|load| load.way.ticket_key == Some(key) && load.way.store == way.store)
        .filter_map(|load| Some((load.tickets, load.held_bytes?)))
        .max_by_key(|(tickets, _)| *tickets)
        .map(|(_, bytes)| bytes);
    Some(measured.unwrap_or(match key {
        // An upper bound: a one-time PSK has no private key.
        OneTimeKey::X25519 | OneTimeKey::Psk => 180.0,
        OneTimeKey::X25519MlKem768 => 2_640.0,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Load;

    #[test]
    fn the_load_with_the_most_tickets_counts() {
        let way = Way::forward_secret(OneTimeKey::X25519, None);
        let load = |way, tickets, held_bytes| Load {
            way,
            suite: None,
            storm: false,
            users: 1,
            rtt_ms: 0.0,
            failed: 0,
            first_accepted_us: None,
            first_accepted_p99_us: None,
            server_us: 1.0,
            server_tls_us: 1.0,
            tickets,
            held_bytes,
        };
        let psk = Way::forward_secret(OneTimeKey::Psk, None);
        let loads = vec![
            load(way, 30, Some(4_000.0)),
            load(way, 3_000, Some(190.0)),
            load(way, 300, Some(500.0)),
            load(way, 9_000, None),
            load(psk, 30_000, Some(90.0)),
        ];
        let evidence = Evidence { loads, ..Evidence::default() };
        assert_eq!(held_bytes(&evidence, way), Some(190.0));
        assert_eq!(held_bytes(&evidence, psk), Some(90.0));
        let hybrid = Way::forward_secret(OneTimeKey::X25519MlKem768, None);
        assert_eq!(held_bytes(&evidence, hybrid), Some(2_640.0));
        assert_eq!(held_bytes(&evidence, way.with_store(Store::Etcd)), None);
    }
}
