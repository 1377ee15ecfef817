//! Answers as text for people.

use std::fmt::Write as _;

use tessera_bindings::BindingState;

use crate::state::{ClientBinding, DrainState, PoolState, ProxyState};

/// Returns a text without control characters: names come from the store.
pub(super) fn printable(text: &str) -> String {
    let escaped = text.chars().map(|it| match it.is_control() && it != '\n' {
        true => it.escape_default().to_string(),
        false => it.to_string(),
    });
    escaped.collect()
}

/// Returns a client's binding as a line.
pub(super) fn binding(shown: &ClientBinding) -> String {
    let (client, generation) = (shown.client.text(), shown.binding.generation.0);
    let place = match &shown.binding.state {
        BindingState::Stable { owner } => format!("at {owner}"),
        BindingState::Preparing { owner, next, .. } => format!("at {owner}, {next} prepares"),
        BindingState::Announced { owner, next, .. } => format!("at {owner}, sent to {next}"),
        BindingState::Switched { owner, earlier, .. } => {
            format!("at {owner}, {earlier} still forwards")
        }
    };
    let failure = shown.binding.failure.as_ref();
    let failure = failure
        .map(|it| format!("; its move to {} was given up: {it}", it.next))
        .unwrap_or_default();
    printable(&format!("{client}: {place} (generation {generation}){failure}\n"))
}

/// Returns the state of the pool as a table.
pub(super) fn pool(state: &PoolState) -> String {
    let mut out = String::new();
    if !state.is_current {
        out.push_str("The orchestrator can't reach the store: this may be old.\n\n");
    }
    let PoolState { clients, moves, waiting, .. } = state;
    let _ = writeln!(out, "{clients} clients, {moves} of them moving; {waiting} requests wait\n");
    let header = ["PROXY", "SITE", "CLIENTS", "LEAVING", "ARRIVING", "AUTHORITY", ""];
    let mut rows = vec![header.map(str::to_owned)];
    for ProxyState { name, site, authority, clients, leaving, arriving, draining } in &state.proxies
    {
        let drained = if *draining { "drained" } else { "" };
        rows.push([
            printable(&name.0),
            printable(site),
            clients.to_string(),
            leaving.to_string(),
            arriving.to_string(),
            printable(authority),
            drained.to_owned(),
        ]);
    }
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if !state.drains.is_empty() {
        out.push_str("\nDrains\n");
    }
    for DrainState { scope, name, .. } in &state.drains {
        let _ = writeln!(out, "  {scope} {name}");
    }
    if !state.warnings.is_empty() {
        out.push_str("\nWarnings\n");
    }
    for warning in &state.warnings {
        let _ = writeln!(out, "  {}", warning.replace('\n', " "));
    }
    printable(&out)
}

#[cfg(test)]
mod tests {
    use tessera_bindings::ProxyName;

    use super::*;

    #[test]
    fn the_table_shows_names_of_the_store_without_control_characters() {
        let proxy = |name: &str, clients, draining| ProxyState {
            name: ProxyName(name.into()),
            site: "north".into(),
            authority: format!("{name}.example:443"),
            clients,
            leaving: 1,
            arriving: 0,
            draining,
        };
        let state = PoolState {
            is_current: true,
            clients: 12,
            moves: 1,
            waiting: 0,
            proxies: vec![proxy("a", 10, true), proxy("b\u{1b}[2J", 2, false)],
            drains: vec![DrainState { scope: "proxy".into(), name: "a".into(), since: 0 }],
            warnings: vec!["a differs\nfrom b".into()],
        };
        assert_eq!(
            pool(&state),
            "12 clients, 1 of them moving; 0 requests wait\n\n\
             PROXY       SITE   CLIENTS  LEAVING  ARRIVING  AUTHORITY\n\
             a           north  10       1        0         a.example:443           drained\n\
             b\\u{1b}[2J  north  2        1        0         b\\u{1b}[2J.example:443\n\n\
             Drains\n  proxy a\n\n\
             Warnings\n  a differs from b\n"
        );
        assert!(pool(&PoolState { is_current: false, ..state }).contains("may be old"));
    }
}
