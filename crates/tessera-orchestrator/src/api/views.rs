//! What the table shows, for operators.

use std::collections::BTreeMap;

use tessera_bindings::{Binding, BindingState, BindingTable, ClientName, DrainScope};

use super::route::ClientsPage;
use crate::moves::{Mover, PlacedProxy, Placement};
use crate::state::{
    ClientBinding, ClientsState, DrainState, JsonClient, MovesState, PoolState, ProxyState,
    percent_encoded,
};

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
        warnings: table.differing_settings(&mover.settings),
    }
}

pub(super) fn proxies(placement: &Placement) -> Vec<ProxyState> {
    let proxy = |(name, placed): (&tessera_bindings::ProxyName, &PlacedProxy)| ProxyState {
        name: name.clone(),
        site: placed.entry.site.clone(),
        authority: placed.entry.authority.clone(),
        clients: placed.clients,
        leaving: placed.leaving,
        arriving: placed.arriving,
        draining: placed.is_drained,
    };
    placement.proxies.iter().map(proxy).collect()
}

pub(super) fn clients(table: &BindingTable, page: &ClientsPage) -> ClientsState {
    // The first ones, and one more, which shows whether there are more.
    let mut first: BTreeMap<ClientName, Binding> = BTreeMap::new();
    table.for_each_binding(|client, binding| {
        let is_later = page.after.as_ref().is_none_or(|after| client > after);
        let is_full = first.len() > page.limit;
        if !is_later || is_full && first.last_key_value().is_some_and(|(last, _)| client > last) {
            return;
        }
        first.insert(client.clone(), binding.clone());
        if is_full {
            first.pop_last();
        }
    });
    if first.len() > page.limit {
        first.pop_last();
        let after = first.last_key_value().map(|(last, _)| percent_encoded(last.as_bytes()));
        return ClientsState { clients: bindings(first), after };
    }
    ClientsState { clients: bindings(first), after: None }
}

fn bindings(clients: BTreeMap<ClientName, Binding>) -> Vec<ClientBinding> {
    let shown = |(client, binding): (ClientName, Binding)| ClientBinding {
        client: JsonClient::from(&client),
        binding,
    };
    clients.into_iter().map(shown).collect()
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
