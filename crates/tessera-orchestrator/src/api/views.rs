//! What the table shows, for operators.

use tessera_bindings::{BindingState, BindingTable, DrainScope};

use crate::moves::{Mover, PlacedProxy, Placement};
use crate::state::{ClientBinding, DrainState, MovesState, PoolState, ProxyState};

/// The most moves in an answer.
const MOST_MOVES: usize = 1000;

pub(super) fn pool(mover: &Mover) -> PoolState {
    let (table, placement) = (&mover.table, Placement::of(&mover.table));
    let mut drains = table.drains();
    drains.sort_by(|(one, _), (other, _)| one.cmp(other));
    let drain = |(scope, drain): (DrainScope, tessera_bindings::Drain)| {
        let (scope, name) = match scope {
            DrainScope::Proxy(proxy) => ("proxy", proxy.0),
            DrainScope::Site(site) => ("site", site),
        };
        let since = u64::try_from(drain.since.as_millis()).unwrap_or(u64::MAX);
        DrainState { scope: scope.to_owned(), name, since }
    };
    PoolState {
        is_current: table.is_current(),
        clients: placement.clients,
        moves: placement.moving,
        waiting: mover.waiting(),
        proxies: proxies(&placement),
        drains: drains.into_iter().map(drain).collect(),
    }
}

pub(super) fn proxies(placement: &Placement) -> Vec<ProxyState> {
    let proxy = |(name, placed): (&tessera_bindings::ProxyName, &PlacedProxy)| ProxyState {
        name: name.clone(),
        site: placed.entry.site.clone(),
        authority: placed.entry.authority.clone(),
        clients: placed.clients,
        draining: placed.is_drained,
    };
    placement.proxies.iter().map(proxy).collect()
}

pub(super) fn moves(table: &BindingTable) -> MovesState {
    let (mut count, mut moves) = (0, Vec::new());
    table.for_each_binding(|client, binding| {
        if matches!(binding.state, BindingState::Stable { .. }) {
            return;
        }
        count += 1;
        if moves.len() < MOST_MOVES {
            moves.push(ClientBinding { client: client.into(), binding: binding.clone() });
        }
    });
    MovesState { count, moves }
}
