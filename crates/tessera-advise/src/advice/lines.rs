//! The choices, line by line.

use crate::evidence::{
    Continuation, KeyExchange, Letter, Load, OneTimeKey, Protection, Store, Way,
};
use crate::facts::{Application, EarlyRequests, Facts};

use super::measurements::{self, Measurement, Unit};
use super::memory::held_bytes;
use super::numbers::milliseconds;
use super::price::at_home;
use super::rules::{Exclusion, registers, ruled_out};
use super::sentences::{self as say, fill};
use super::settings::hours;
use super::{Choice, Line};

impl Choice<'_> {
    /// Returns all lines, most important first.
    pub(super) fn lines(&self) -> Vec<Line> {
        let lines = [
            Some(self.reconnection()),
            Some(self.key_exchange()),
            self.one_time_key(),
            self.continuation(),
            self.key_lifetime(),
            self.ticket_lifetime(),
            self.store(),
            Some(self.requests()),
            self.pays(),
            Some(self.together()),
        ];
        lines.into_iter().flatten().collect()
    }

    fn reconnection(&self) -> Line {
        let (rtt, baseline) = (self.facts.round_trip_ms, self.baseline());
        let reason = match self.way.option {
            Letter::A => match ruled_out(self.evidence, self.facts, baseline) {
                Some(Exclusion { fact, because }) => fill(say::NO_RESUMPTION, &[&fact, &because]),
                None => say::NO_SAVING.to_owned(),
            },
            Letter::B => say::LEAST_WORK.to_owned(),
            Letter::C => fill(say::TICKET_SAVES, &[&rtt]),
            Letter::D | Letter::DSingleUse => fill(say::EARLY_BY_CONSENT, &[&rtt]),
            Letter::E => {
                let from = match self.way.store {
                    Store::Memory => say::THE_TAKE,
                    // docs/vaults.md: etcd retains deleted values for a while.
                    Store::Etcd => say::EPOCH_END,
                };
                fill(say::EARLY_ONCE, &[&rtt, &from])
            }
        };
        let facts = vec![
            "round-trip",
            "early-requests",
            "forward-secrecy",
            "peer-tls",
            "fresh-certificates",
        ];
        let own = measurements::cost_of(self.evidence, self.facts, self.way);
        let cost = own.into_iter().chain(self.against(baseline)).collect();
        self.line("reconnection", self.way.option.to_string(), reason, facts, cost)
    }

    fn key_exchange(&self) -> Line {
        // psk_ke has no key exchange.
        let of = if self.way.kx.is_some() { self.way } else { self.baseline() };
        let kx = of.kx.unwrap_or(KeyExchange::X25519MlKem768);
        let other = match kx {
            KeyExchange::X25519MlKem768 => KeyExchange::X25519,
            KeyExchange::X25519 => KeyExchange::X25519MlKem768,
        };
        let ticket_key = match of.ticket_key {
            Some(OneTimeKey::Psk) => Some(OneTimeKey::Psk),
            Some(_) => Some(key_like(other)),
            None => None,
        };
        let sibling = Way { kx: Some(other), ticket_key, ..of };
        let reason = match kx {
            KeyExchange::X25519MlKem768 => self.why_hybrid(sibling, say::RECORDINGS_KEPT),
            KeyExchange::X25519 => say::CLASSICAL_IS_CHEAPER.to_owned(),
        };
        let cost = measurements::against(self.evidence, self.facts, of, sibling);
        let answer = match self.way.kx {
            Some(_) => kx.registered_name().to_owned(),
            None => fill(say::NO_KEY_EXCHANGE, &[&kx.registered_name()]),
        };
        let cost = cost.into_iter().collect();
        self.line("key exchange", answer, reason, vec!["post-quantum"], cost)
    }

    /// Explains hybrid keys in place of those of this way.
    fn why_hybrid(&self, sibling: Way, asked_for: &str) -> String {
        if self.facts.post_quantum {
            return asked_for.to_owned();
        }
        let because = match ruled_out(self.evidence, self.facts, sibling) {
            Some(Exclusion { because, .. }) => because,
            None => say::LEAVING_IT_OUT.to_owned(),
        };
        fill(say::HYBRID_ALL_THE_SAME, &[&because])
    }

    fn one_time_key(&self) -> Option<Line> {
        let key = self.way.ticket_key?;
        let sibling = match key {
            OneTimeKey::X25519 => OneTimeKey::X25519MlKem768,
            OneTimeKey::X25519MlKem768 | OneTimeKey::Psk => OneTimeKey::X25519,
        };
        let sibling = Way { ticket_key: Some(sibling), ..self.way };
        let (reason, facts) = match key {
            OneTimeKey::X25519MlKem768 => {
                (self.why_hybrid(sibling, say::EARLY_DATA_RECORDED), "post-quantum")
            }
            OneTimeKey::X25519 => (say::CLASSICAL_SUFFICES.to_owned(), "post-quantum"),
            OneTimeKey::Psk => (say::PSK_DELETED.to_owned(), "deletes-one-time-psks"),
        };
        let differs = self.against(sibling);
        let cost = differs.into_iter().chain(self.held()).collect();
        Some(self.line("one-time key", key.words(), reason, vec![facts], cost))
    }

    fn continuation(&self) -> Option<Line> {
        let continuation = self.way.continuation?;
        let dhe_sibling =
            Way { continuation: Some(Continuation::PskDheKe), kx: self.key_kx(), ..self.way };
        let psk_ke = Way { continuation: Some(Continuation::PskKe), kx: None, ..self.way };
        let sibling = match continuation {
            Continuation::PskKe => dhe_sibling,
            Continuation::PskDheKe => psk_ke,
        };
        let ruled_out = ruled_out(self.evidence, self.facts, sibling);
        let reason = match (continuation, ruled_out) {
            (Continuation::PskKe, Some(_)) => say::DHE_OPENS.to_owned(),
            (Continuation::PskKe, None) => say::DHE_COSTS.to_owned(),
            (Continuation::PskDheKe, Some(Exclusion { because, .. })) => because,
            (Continuation::PskDheKe, None) => say::DHE_IS_CHEAP.to_owned(),
        };
        let facts = vec!["forward-secrecy", "processor-price"];
        let cost = self.against(sibling).into_iter().collect();
        Some(self.line("continuation", continuation.name(), reason, facts, cost))
    }

    fn key_lifetime(&self) -> Option<Line> {
        self.way.ticket_key?;
        let [in_time, ..] = self.lifetimes.shares(self.facts.reconnections_per_hour);
        let until = match self.way.store {
            Store::Memory => say::THEN,
            Store::Etcd => say::ITS_EPOCH_ENDS,
        };
        let mut reason = fill(say::KEY_IN_TIME, &[&format_args!("{:.0}", in_time * 100.0), &until]);
        match self.facts.application {
            Application::Sepp => reason += say::SEPP_HAS_NO_KEY,
            Application::Tunnel => reason += say::TUNNEL_HAS_NO_KEY,
            Application::Own => {}
        }
        let late = self.late(say::KEY_TOO_LATE);
        let answer = hours(self.lifetimes.one_time_key);
        let facts = vec!["reconnections-per-hour", "longest-ticket-lifetime"];
        Some(self.line("one-time key's lifetime", answer, reason, facts, late))
    }

    fn ticket_lifetime(&self) -> Option<Line> {
        if self.way.option == Letter::A {
            return None;
        }
        let [.., too_late] = self.lifetimes.shares(self.facts.reconnections_per_hour);
        let reason = fill(say::TICKET_IN_TIME, &[&format_args!("{:.0}", (1.0 - too_late) * 100.0)]);
        let resumed = match self.way.option {
            Letter::E => self.baseline(),
            _ => self.way,
        };
        let full = Way::plain(Letter::A, resumed.kx.or(super::candidates::full(self.facts).kx));
        let late = measurements::against(self.evidence, self.facts, full, resumed);
        let late = late.into_iter().map(|late| late.when(say::TICKET_TOO_LATE)).collect();
        let facts = vec!["reconnections-per-hour", "longest-ticket-lifetime"];
        Some(self.line("ticket's lifetime", hours(self.lifetimes.ticket), reason, facts, late))
    }

    fn store(&self) -> Option<Line> {
        self.way.ticket_key?;
        let memory = self.way.with_store(Store::Memory);
        let (answer, reason, cost) = match self.way.store {
            Store::Etcd => {
                let there = self.facts.store_round_trip_ms.unwrap_or_default() * 1e3;
                let there = Measurement::of(self.way, say::WAY_TO_STORE, there, Unit::Us);
                // Compare like with like, both with keys in memory: etcd's cost would distort the comparison.
                let of_etcd = self.against(memory).filter(|against| !against.without_etcd);
                (say::IN_ETCD, say::ANY_SERVER, of_etcd.into_iter().chain([there]).collect())
            }
            Store::Memory if at_home(self.facts, self.way) < 1.0 => {
                (say::IN_SITES, say::NO_SHARED_STORE, self.late(say::AT_ANOTHER))
            }
            Store::Memory if self.facts.servers > 1.0 => {
                (say::IN_EACH_MEMORY, say::SAME_SERVER, self.held().into_iter().collect())
            }
            Store::Memory => (say::IN_MEMORY, say::ONE_SERVER, self.held().into_iter().collect()),
        };
        let facts = vec!["servers", "shared-store", "store-round-trip", "ticket-memory"];
        Some(self.line("store", answer, reason, facts, cost))
    }

    fn requests(&self) -> Line {
        let found = self.evidence.protection(self.way);
        let registers = registers(self.facts, self.way);
        let cost = found.map(|Protection { way, executions, .. }| {
            let what = match registers {
                Some(_) => say::ATTACKED_ONE_SERVER,
                None => say::ATTACKED,
            };
            // Names the way that was attacked, whose store may be another.
            Measurement::of(*way, what, f64::from(*executions), Unit::Executions)
        });
        let (answer, reason) = match (self.way.option.has_early_data(), self.facts.early_requests) {
            (false, _) => (say::NONE_EARLY, say::NOTHING_BEFORE),
            (true, EarlyRequests::Repeatable) => (say::REPEATABLE_ONES, say::MAY_BE_REPEATED),
            (true, _) => (say::ANY_ONCE, say::VERDICTS),
        };
        let mut reason = reason.to_owned();
        if found.is_some_and(|found| found.way.store != self.way.store) {
            reason = format!("{reason}; {}", say::ATTACKED_IN_MEMORY);
        }
        if let Some(servers) = registers {
            reason += &fill(say::MAY_EXECUTE_TOO, &[&servers]);
        }
        let cost = cost.into_iter().collect();
        self.line("early requests", answer, reason, vec!["early-requests"], cost)
    }

    /// Describes a simultaneous reconnection of all connections.
    fn together(&self) -> Line {
        let Facts { connections, .. } = *self.facts;
        let server_us = |way| {
            let loads = self.storms(way).filter(|load| load.is_storm_that_succeeded());
            let nearest = loads.min_by(|one, other| {
                let off = |users: usize| (users as f64 - connections).abs();
                off(one.users).total_cmp(&off(other.users))
            });
            let storm = nearest.map(|load| {
                let failed = match load.failed {
                    0 => String::new(),
                    failed => fill(say::OF_WHICH_FAILED, &[&failed]),
                };
                (load.server_us, fill(say::IN_A_STORM, &[&load.users, &failed]), false)
            });
            storm.or_else(|| {
                let measured = super::price::WayCost::of(self.evidence, self.facts, way)?;
                Some((measured.server_us, say::ONE_AFTER_ANOTHER.to_owned(), measured.without_etcd))
            })
        };
        let full = Way::plain(Letter::A, super::candidates::full(self.facts).kx);
        let others = Some(full).filter(|full| *full != self.way);
        let cost: Vec<_> = [self.way]
            .into_iter()
            .chain(others)
            .filter_map(|way| {
                let (us, how, without_etcd) = server_us(way)?;
                let what = fill(say::PROCESSOR_FOR_ALL, &[&how]);
                let all = Measurement::of(way, what, us * connections, Unit::Us);
                Some(all.without_etcd(without_etcd))
            })
            .collect();
        let answer = match cost.first().and_then(|own| own.numbers.first()) {
            Some(own) => fill(say::OF_ONE_PROCESSOR, &[&milliseconds(own.value)]),
            None => say::NOT_MEASURED.to_owned(),
        };
        let mut reason = match connections {
            ..2.0 => say::ONE_RECONNECTS.to_owned(),
            _ => fill(say::ALL_RECONNECT, &[&connections]),
        };
        for Load { way, users, failed, .. } in [self.way]
            .into_iter()
            .chain(others)
            .flat_map(|way| self.storms(way))
            .filter(|load| !load.is_storm_that_succeeded())
        {
            reason += &fill(say::STORM_FAILED, &[users, &way.option.letter(), failed]);
        }
        self.line("all at once", answer, reason, vec!["connections"], cost)
    }

    /// Returns the measured storms of a way.
    fn storms(&self, way: Way) -> impl Iterator<Item = &Load> {
        self.evidence.loads.iter().filter(move |load| load.storm && load.way == way)
    }

    pub(super) fn against(&self, other: Way) -> Option<Measurement> {
        measurements::against(self.evidence, self.facts, self.way, other)
    }

    /// Returns the cost of a reconnection that comes too late, or to another server.
    fn late(&self, case: &'static str) -> Vec<Measurement> {
        let late = measurements::against(self.evidence, self.facts, self.baseline(), self.way);
        late.into_iter().map(|late| late.when(case)).collect()
    }

    /// Returns the key exchange that matches the one-time key; X25519 for a PSK.
    fn key_kx(&self) -> Option<KeyExchange> {
        Some(match self.way.ticket_key {
            Some(OneTimeKey::X25519MlKem768) => KeyExchange::X25519MlKem768,
            _ => KeyExchange::X25519,
        })
    }

    fn held(&self) -> Option<Measurement> {
        let all = held_bytes(self.evidence, self.way)? * self.facts.connections;
        let what = match self.facts.connections {
            ..2.0 => say::HELD_FOR_ONE.to_owned(),
            many => fill(say::HELD_FOR_ALL, &[&many]),
        };
        Some(Measurement::of(self.way, what, all, Unit::Bytes))
    }

    pub(super) fn line(
        &self,
        about: &'static str,
        answer: impl Into<String>,
        reason: impl Into<String>,
        facts: Vec<&'static str>,
        cost: Vec<Measurement>,
    ) -> Line {
        Line { about, answer: answer.into(), reason: reason.into(), facts, cost }
    }
}

fn key_like(kx: KeyExchange) -> OneTimeKey {
    match kx {
        KeyExchange::X25519 => OneTimeKey::X25519,
        KeyExchange::X25519MlKem768 => OneTimeKey::X25519MlKem768,
    }
}
