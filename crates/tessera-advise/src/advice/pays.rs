//! Where the answer begins to pay off: [`break_even`].

use crate::break_even::{self, BreakEven, Conditions, Costs, Renewal, Ticket};
use crate::evidence::{Letter, Store, Way};

use super::measurements::{Measurement, Unit};
use super::memory::held_bytes;
use super::numbers::{milliseconds, rate};
use super::price::at_home;
use super::sentences::{self as say, fill};
use super::{Choice, Line};

impl Choice<'_> {
    /// Returns `None` for a full handshake, which has no break-even.
    pub(super) fn pays(&self) -> Option<Line> {
        if self.way.option == Letter::A {
            return None;
        }
        let baseline = self.baseline();
        let facts = vec!["waiting-requests", "processor-price", "reconnections-per-hour"];
        let Some((own, other)) = self.costs(self.way).zip(self.costs(baseline)) else {
            let cost = self.against(baseline).into_iter().collect();
            return Some(self.line("pays", "not known", self.why_not_known(), facts, cost));
        };
        let conditions = self.conditions();
        let number =
            |what, value, unit| Measurement::of(self.way, what, value, unit).against(baseline);
        let gain = break_even::gain_us(&own, &other, &conditions);
        let mut cost = vec![number("a reconnection gains", gain, Unit::UsOfWaiting)];
        let mut words = match break_even::round_trip_ms(&own, &other, &conditions) {
            BreakEven::Always => say::PAYS_ANYWHERE.to_owned(),
            BreakEven::From(rtt) => fill(say::PAYS_FROM, &[&milliseconds(rtt * 1e3)]),
            BreakEven::Never => say::PAYS_NOWHERE.to_owned(),
        };
        if self.ticket(self.way).is_some() && self.ticket(baseline).is_some() {
            let pays = break_even::reconnections_per_hour(&own, &other, &conditions);
            words += &match &pays {
                BreakEven::Always => say::PAYS_AT_ONCE.to_owned(),
                BreakEven::From(least) => fill(say::PAYS_IF_OFTEN, &[&rate(*least)]),
                BreakEven::Never => say::NEVER_OFTEN_ENOUGH.to_owned(),
            };
            if let BreakEven::From(least) = pays {
                cost.push(number("break-even", least, Unit::Reconnections));
            }
        }
        let reason = self.why_it_pays(&own, &other);
        Some(self.line("pays", words, reason, facts, cost))
    }

    fn why_it_pays(&self, own: &Costs, other: &Costs) -> String {
        let waiting = self.facts.waiting_requests;
        let saved = if own.waiting_us.round_trips() < other.waiting_us.round_trips() {
            match waiting > 0.0 {
                true => fill(say::SAVES_ROUND_TRIP, &[&waiting]),
                false => say::NO_REQUEST_WAITS.to_owned(),
            }
        } else {
            let spared = match self.way.option {
                Letter::C => say::NO_CERTIFICATES,
                Letter::B => say::NO_KEY,
                _ => say::OTHER_WORK,
            };
            fill(say::SAVES_PROCESSOR, &[&spared])
        };
        fill(say::PROCESSOR_PRICE, &[&saved, &self.facts.processor_price])
    }

    fn why_not_known(&self) -> &'static str {
        if self.way.store == Store::Etcd {
            return say::ISSUING_IN_ETCD;
        }
        let through = self.evidence.through(self.facts.round_trip_ms);
        let cells = |through| self.evidence.plain_cells(self.way, through).count();
        match through.map(cells) {
            Some(0 | 1) | None => say::TWO_ROUND_TRIP_TIMES,
            Some(_) => say::ISSUING,
        }
    }

    fn conditions(&self) -> Conditions {
        let lifetime = match self.way.option {
            Letter::E => self.lifetimes.one_time_key,
            _ => self.lifetimes.ticket,
        };
        Conditions {
            round_trip_ms: self.facts.round_trip_ms,
            waiting_requests: self.facts.waiting_requests,
            processor_price: self.facts.processor_price,
            ticket_lifetime_hours: lifetime,
            renewal: Renewal::Never,
            at_home: at_home(self.facts, self.way),
        }
    }

    /// Returns the cost of one ticket; `None` if it wasn't measured separately.
    fn ticket(&self, way: Way) -> Option<Ticket> {
        if way.option == Letter::A {
            return Some(Ticket::default());
        }
        self.evidence.ticket(way, held_bytes(self.evidence, way).unwrap_or_default())
    }

    /// Returns the cost of a way; `None` if it, including the issuing of a ticket, wasn't measured: a free ticket would
    /// flatter the way.
    fn costs(&self, way: Way) -> Option<Costs> {
        let through = self.evidence.through(self.facts.round_trip_ms)?;
        let with_issuing = self.evidence.plain_cells(way, through).next()?.with_issuing;
        let ticket = self.ticket(way).or(with_issuing.then(Ticket::default))?;
        self.evidence.costs(way, through, ticket)
    }
}
