//! The gap of a handover, as tables.

use super::gap::{Client, Handover, Pool};
use super::input::Inputs;
use crate::numbers::{count, fixed};
use crate::statistics::{Median, quantile};
use crate::table::{Cell, Table, cells};

/// Returns what matters first: how long our client waits, next to one between two Envoys.
pub(super) fn sentence(inputs: &Inputs) -> Option<String> {
    let report = inputs.gap.as_ref()?;
    let trips = |client, pool| Some(report.gap(client, pool, FAR_MS)?.value / FAR_MS);
    Some(format!(
        "Between the announcement of the next proxy and the first request that it executes, {} round trips pass with a moved \
         one-time key, {} with a ticket, and {} between two Envoys.",
        fixed(trips(Client::FollowMovedKey, Pool::Tessera)?, 2),
        fixed(trips(Client::FollowTicket, Pool::Tessera)?, 2),
        fixed(trips(Client::FollowTicket, Pool::Envoy)?, 2),
    ))
}

/// All kinds of clients.
pub(super) fn gaps(inputs: &Inputs) -> Option<Table> {
    let report = inputs.gap.as_ref()?;
    let mut table = Table::with_note(
        "Milliseconds, medians of the handovers, and how far they may be off (95 %). The gap begins with the end of the response \
         that announces the next proxy, and ends when the first request is executed there. The longest wait is that for an \
         answer after the announcement, failed requests included; the usual one is the median before.",
        "client, proxies, round trip | handovers | gap | in round trips | 95 % | longest wait | usual wait | resumed | early | \
         failed | executed twice",
    );
    for cell in &report.cells {
        let all = &cell.handovers;
        let of = |value: fn(&Handover) -> f64| Median::of(all.iter().map(value));
        let share = |is_it: fn(&Handover) -> Option<bool>| {
            let known: Vec<_> = all.iter().filter_map(is_it).collect();
            let are = known.iter().filter(|it| **it).count();
            (!known.is_empty()).then(|| format!("{are} of {}", known.len()))
        };
        let gap = cell.gap();
        let trips = gap.filter(|_| cell.rtt_ms > 0.0).map(|it| fixed(it.value / cell.rtt_ms, 2));
        let most = quantile(cell.gaps(), 0.95).filter(|_| all.len() >= 20);
        let [failed, requests] = [|it: &Handover| it.failed, |it: &Handover| it.requests]
            .map(|value| all.iter().map(value).sum::<u64>());
        let doubled: u64 = all.iter().map(|it| it.doubled).sum();
        let words = match cell.gaps().next() {
            Some(_) => Cell::from(gap),
            None => Cell::from("doesn't follow"),
        };
        table.row(
            format!("{}, {}, {} ms", cell.client.words(), pool_words(cell.pool), cell.rtt_ms),
            cells![
                all.len(),
                words,
                trips,
                most,
                of(|it| it.longest_us / 1e3),
                of(|it| it.usual_us / 1e3),
                share(|it| it.resumed),
                share(|it| it.early),
                Cell::from(format!("{failed} of {}", count(requests))).bad_if(failed > 0),
                Cell::from(doubled).bad_if(doubled > 0),
            ],
        );
    }
    table.unless_empty()
}

fn pool_words(pool: Pool) -> &'static str {
    match pool {
        Pool::Tessera => "Tessera",
        Pool::Envoy => "two Envoys",
    }
}

/// The round trip of the targets.
const FAR_MS: f64 = 33.0;

/// How far a time may be off, in round trips: both ends compute, and the next proxy takes the switch.
const NEAR: f64 = 0.25;

/// What the gap must be.
pub(super) fn targets(inputs: &Inputs) -> Option<Table> {
    let report = inputs.gap.as_ref()?;
    let mut table = Table::with_note(
        format!(
            "Gaps in round trips of {FAR_MS} ms, from the medians. A quarter of a round trip is left to what both ends compute, \
             and to the next proxy, which takes the switch in the store and fetches the client's state."
        ),
        "what | measured | to be | is so",
    );
    let trips = |client, pool| Some(report.gap(client, pool, FAR_MS)?.value / FAR_MS);
    let key = trips(Client::FollowMovedKey, Pool::Tessera);
    let beside = |other: Option<f64>| Some(other? - key?);
    let firefox = [Pool::Tessera, Pool::Envoy].map(|pool| trips(Client::Firefox, pool));
    let mut row = |what: &str, measured: Option<f64>, expected: &str, is_so: fn(f64) -> bool| {
        let is_so = measured.map(is_so);
        let words = is_so.map(|is_so| if is_so { "yes" } else { "no" });
        let verdict = Cell::from(words).bad_if(is_so == Some(false));
        table.row(what, cells![measured.map(|it| fixed(it, 2)), expected, verdict]);
    };
    row("with a moved key: TCP and half a round trip", key, "1.5", |it| it <= 1.5 + NEAR);
    let resumed = beside(trips(Client::FollowTicket, Pool::Tessera));
    row("resumed, over a moved key", resumed, "1 more", |it| it >= 1.0 - NEAR);
    let envoys = beside(trips(Client::FollowTicket, Pool::Envoy));
    row("the same client between two Envoys, over a moved key", envoys, "1 more", |it| {
        it >= 1.0 - NEAR
    });
    let firefox = match firefox {
        [Some(ours), Some(envoys)] => Some(ours - envoys),
        _ => None,
    };
    row("Firefox, over Firefox between two Envoys", firefox, "0, or less", |it| it <= NEAR);
    table.unless_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::edge::gap;

    fn inputs() -> Inputs {
        Inputs { gap: gap::tests::gap(), ..Inputs::default() }
    }

    #[test]
    fn a_gap_is_in_milliseconds_and_in_round_trips() {
        let table = gaps(&inputs()).unwrap();
        let texts = table.texts("tessera-follow, moved key, Tessera, 33 ms");
        assert_eq!(texts[..4], ["20", "49.50±0.00", "1.50", "49.50"]);
        assert_eq!(texts[6..], ["20 of 20", "20 of 20", "0 of 240", "0"]);
        let texts = table.texts("Chromium, Tessera, 33 ms");
        assert_eq!(texts[..4], ["20", "doesn't follow", "–", "–"]);
        assert!(gaps(&Inputs::default()).is_none());
    }

    #[test]
    fn the_gap_is_the_answer_as_long_as_nothing_else_is_recorded() {
        let [sentence, _] = crate::results::edge::answer(&inputs());
        assert!(sentence.contains("1.50 round trips pass with a moved one-time key, 2.50 with"));
        let [sentence, _] = crate::results::edge::answer(&Inputs::default());
        assert_eq!(sentence, "Nothing is recorded yet.");
    }

    #[test]
    fn a_gap_that_is_too_long_misses_its_target() {
        let table = targets(&inputs()).unwrap();
        let texts = |name| table.texts(name);
        assert_eq!(texts("with a moved key: TCP and half a round trip"), ["1.50", "1.5", "yes"]);
        assert_eq!(texts("resumed, over a moved key"), ["1.00", "1 more", "yes"]);
        let envoys = "the same client between two Envoys, over a moved key";
        assert_eq!(texts(envoys), ["0.50", "1 more", "no"]);
        let firefox = "Firefox, over Firefox between two Envoys";
        assert_eq!(texts(firefox), ["1.00", "0, or less", "no"]);
    }
}
