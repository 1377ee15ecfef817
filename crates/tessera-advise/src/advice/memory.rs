//! What a server holds for a ticket until it is used or expires.

use crate::evidence::{Evidence, OneTimeKey, Store, Way};

/// Bytes in the server's memory for each ticket: from the evidence on load, else those of docs/vaults.md, which
/// `memory-vault` in `bench/` measured. Sealed tickets lie at the client, and etcd's members hold their own.
pub(super) fn held_bytes(evidence: &Evidence, way: Way) -> Option<f64> {
    let key = way.ticket_key?;
    if way.store == Store::Etcd {
        return None;
    }
    let measured = evidence
        .loads
        .iter()
        .filter(|load| load.way.ticket_key == Some(key) && load.way.store == way.store)
        .find_map(|load| load.held_bytes);
    Some(measured.unwrap_or(match key {
        // A one-time PSK has no private key beside it, so this is more than it takes.
        OneTimeKey::X25519 | OneTimeKey::Psk => 180.0,
        OneTimeKey::X25519MlKem768 => 2_640.0,
    }))
}
