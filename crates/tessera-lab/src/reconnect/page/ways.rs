//! Ways, as the page writes them.

use crate::ways::{Agreement, OneTimeKind, Way};

/// Formats a way as HTML: the mode, and what else distinguishes the row.
pub(super) fn head(way: &Way) -> String {
    let choices = choices(way).join(", ");
    format!("<b>{}</b> <span>{choices}</span>", way.mode.name())
}

/// Formats a way as a text.
pub(super) fn description(way: &Way) -> String {
    [vec![way.mode.name().to_owned()], choices(way)].concat().join(", ")
}

/// Returns a way as a key, for programs.
pub(super) fn key(way: &Way) -> String {
    let kx = way.kx.map_or("none", Agreement::name);
    let key = way.ticket_key.map_or("none", OneTimeKind::name);
    let continuation = way.continuation.map_or("none", |continuation| continuation.name());
    let syn = if way.fast_open { "/syn" } else { "" };
    [way.mode.name(), kx, key, continuation].join("/") + syn
}

fn choices(way: &Way) -> Vec<String> {
    let kx = way
        .kx
        .map_or_else(|| "no key exchange".to_owned(), |kx| format!("key exchange {}", kx.name()));
    let key = way.ticket_key.map(|key| match key {
        OneTimeKind::OneTimePsk => "one-time PSK (if both ends delete it)".to_owned(),
        OneTimeKind::KeyPair(key) => format!("one-time key {}", key.name()),
    });
    let continuation = way.continuation.map(|continuation| continuation.name().to_owned());
    let syn = way.fast_open.then(|| "TCP Fast Open".to_owned());
    [Some(kx), key, continuation, syn].into_iter().flatten().collect()
}
