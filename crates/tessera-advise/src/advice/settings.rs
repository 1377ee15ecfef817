//! Advice as settings of `tessera sepp`.

use crate::evidence::{Continuation, Letter, Way};

use super::lifetimes::Lifetimes;

/// The keys of `[peer.NAME.reconnection]` (docs/sepp.md). The continuation and the kind of one-time keys have none: a
/// SEPP offers what both ends have.
pub(super) fn sepp(way: Way, lifetimes: &Lifetimes) -> Vec<String> {
    let lines: &[&str] = match way.option {
        Letter::A => &["resume = false"],
        Letter::B => &["risky-psk-ke = true"],
        Letter::C => &[],
        // Its register of used tickets can't be switched off.
        Letter::D | Letter::DSingleUse => &["risky-replayable-early-data = true"],
        Letter::E => &["early-data = \"fs\""],
    };
    let mut lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
    if way.continuation == Some(Continuation::PskKe) {
        lines.push("# A SEPP goes on with psk_dhe_ke; psk_ke is for programs of your own (docs/library.md).".to_owned());
    }
    if way.option != Letter::A {
        lines.push(format!("ticket-lifetime = \"{}s\"", (lifetimes.ticket * 3600.0).round()));
    }
    lines
}
