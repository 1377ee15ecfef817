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
                Some(Exclusion { fact, because }) => {
                    format!("{fact} rules resumption out: {because}")
                }
                None => "no way of resuming saves anything for certain".to_owned(),
            },
            Letter::B => "the owner gave up forward secrecy, and this is the least work".to_owned(),
            Letter::C => format!(
                "a ticket saves the certificates, and no permitted way saves more for certain at {rtt} ms"
            ),
            Letter::D | Letter::DSingleUse => format!(
                "a request goes with the first flight, which saves a round trip of {rtt} ms; the owner accepted what \
                 that gives up"
            ),
            Letter::E => {
                let from = match self.way.store {
                    Store::Memory => "the take",
                    // docs/vaults.md: etcd retains deleted values for a while.
                    Store::Etcd => "the end of the epoch in which its key was stored",
                };
                format!(
                    "a request goes with the first flight, which saves a round trip of {rtt} ms; it is forward-secret \
                     from {from} on, and executed at most once"
                )
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
            KeyExchange::X25519MlKem768 => self.why_hybrid(
                sibling,
                "recordings are kept, and a quantum computer would open X25519's",
            ),
            KeyExchange::X25519 => {
                "post-quantum confidentiality isn't required, and would cost the difference"
                    .to_owned()
            }
        };
        let cost = measurements::against(self.evidence, self.facts, of, sibling);
        let answer = match self.way.kx {
            Some(_) => kx.registered_name().to_owned(),
            None => format!("none; {} in what it falls back to", kx.registered_name()),
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
            None => "leaving it out saves nothing for certain".to_owned(),
        };
        format!("post-quantum confidentiality isn't required; {because}")
    }

    fn one_time_key(&self) -> Option<Line> {
        let key = self.way.ticket_key?;
        let sibling = match key {
            OneTimeKey::X25519 => OneTimeKey::X25519MlKem768,
            OneTimeKey::X25519MlKem768 | OneTimeKey::Psk => OneTimeKey::X25519,
        };
        let sibling = Way { ticket_key: Some(sibling), ..self.way };
        let (reason, facts) = match key {
            OneTimeKey::X25519MlKem768 => (
                self.why_hybrid(
                    sibling,
                    "early data that is recorded must stay closed to quantum computers too",
                ),
                "post-quantum",
            ),
            OneTimeKey::X25519 => {
                ("post-quantum confidentiality isn't required".to_owned(), "post-quantum")
            }
            OneTimeKey::Psk => (
                "both ends really delete it, and no public-key work is left".to_owned(),
                "deletes-one-time-psks",
            ),
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
            (Continuation::PskKe, Some(_)) => {
                "the session is protected like its early data, and a classical key exchange in addition would open it \
                 to what the facts rule out"
                    .to_owned()
            }
            (Continuation::PskKe, None) => {
                "the session is as forward-secret as its early data, and a second key exchange costs \
                 more than the measurement is uncertain by"
                    .to_owned()
            }
            (Continuation::PskDheKe, Some(Exclusion { because, .. })) => because,
            (Continuation::PskDheKe, None) => {
                "the handshake has its own key exchange, and leaving it out saves nothing for certain".to_owned()
            }
        };
        let facts = vec!["forward-secrecy", "processor-price"];
        let cost = self.against(sibling).into_iter().collect();
        Some(self.line("continuation", continuation.name(), reason, facts, cost))
    }

    fn key_lifetime(&self) -> Option<Line> {
        self.way.ticket_key?;
        let [in_time, ..] = self.lifetimes.shares(self.facts.reconnections_per_hour);
        let mut reason = format!(
            "{:.0} of 100 reconnections come within it, if connections break independently; the others go by the sealed \
             ticket, at this price; a lost flight stays readable for an attacker who steals its key until {}",
            in_time * 100.0,
            match self.way.store {
                Store::Memory => "then",
                Store::Etcd => "its epoch ends",
            },
        );
        match self.facts.application {
            Application::Sepp => reason += "; a SEPP has no key for it",
            Application::Tunnel => reason += "; a tunnel has no key for it",
            Application::Own => {}
        }
        let late = self.late("when the key is too late");
        let answer = hours(self.lifetimes.one_time_key);
        let facts = vec!["reconnections-per-hour", "longest-ticket-lifetime"];
        Some(self.line("one-time key's lifetime", answer, reason, facts, late))
    }

    fn ticket_lifetime(&self) -> Option<Line> {
        if self.way.option == Letter::A {
            return None;
        }
        let [.., too_late] = self.lifetimes.shares(self.facts.reconnections_per_hour);
        let reason = format!(
            "{:.0} of 100 reconnections come within it; the others are full handshakes, at this price",
            (1.0 - too_late) * 100.0
        );
        let resumed = match self.way.option {
            Letter::E => self.baseline(),
            _ => self.way,
        };
        let full = Way::plain(Letter::A, resumed.kx.or(super::candidates::full(self.facts).kx));
        let late = measurements::against(self.evidence, self.facts, full, resumed);
        let late = late.into_iter().map(|late| late.when("when the ticket is too late")).collect();
        let facts = vec!["reconnections-per-hour", "longest-ticket-lifetime"];
        Some(self.line("ticket's lifetime", hours(self.lifetimes.ticket), reason, facts, late))
    }

    fn store(&self) -> Option<Line> {
        self.way.ticket_key?;
        let memory = self.way.with_store(Store::Memory);
        let (answer, reason, cost) = match self.way.store {
            Store::Etcd => {
                let there = self.facts.store_round_trip_ms.unwrap_or_default() * 1e3;
                let way = "the way to the store, by the facts";
                let there = Measurement::of(self.way, way, there, Unit::Us);
                // Compare like with like, both with keys in memory: etcd's cost would distort the comparison.
                let of_etcd = self.against(memory).filter(|against| !against.without_etcd);
                (
                    "etcd, its values under epoch keys",
                    "any of the servers takes the key; a take waits for the store, which is nearer than the client",
                    of_etcd.into_iter().chain([there]).collect(),
                )
            }
            Store::Memory if at_home(self.facts, self.way) < 1.0 => (
                "the memory of each server; between them the channel of docs/sites.md",
                "the servers share no store: a forward-secret ticket opens where it was issued, elsewhere its sealed \
                 ticket resumes at this price, if they share ticket keys and that channel; if not, the flight is \
                 `unknown`",
                self.late("at another server"),
            ),
            Store::Memory if self.facts.servers > 1.0 => (
                "the memory of each server",
                "a client returns to the server that it left; a key that is lost with that server costs a round trip, \
                 and never a replay",
                self.held().into_iter().collect(),
            ),
            Store::Memory => (
                "the server's memory",
                "one server answers; a key that is lost with it costs a round trip, and never a replay",
                self.held().into_iter().collect(),
            ),
        };
        let facts = vec!["servers", "shared-store", "store-round-trip", "ticket-memory"];
        Some(self.line("store", answer, reason, facts, cost))
    }

    fn requests(&self) -> Line {
        let found = self.evidence.protection(self.way);
        let registers = registers(self.facts, self.way);
        let cost = found.map(|Protection { way, executions, .. }| {
            let what = match registers {
                Some(_) => {
                    "a request whose flight an adversary replayed to one server was executed"
                }
                None => "a request whose flight an adversary replayed was executed",
            };
            // Names the way that was attacked, whose store may be another.
            Measurement::of(*way, what, f64::from(*executions), Unit::Executions)
        });
        let (answer, reason) = match (self.way.option.has_early_data(), self.facts.early_requests) {
            (false, _) => ("none is early", "this way sends nothing before the handshake"),
            (true, EarlyRequests::Repeatable) => (
                "those that may be repeated",
                "a request whose verdict leaves its outcome open may be sent again",
            ),
            (true, _) => (
                "any of them, once",
                "the server executes a flight at most once, and a rejected one brings a verdict: a burned flight was \
                 not executed and may be sent again; a used or unknown one may have been, which the application must \
                 resolve",
            ),
        };
        let attacked_elsewhere = found.is_some_and(|found| found.way.store != self.way.store);
        let reason = match attacked_elsewhere {
            true => format!("{reason}; it was attacked with keys in memory, not in etcd"),
            false => reason.to_owned(),
        };
        let reason = match registers {
            Some(servers) => format!(
                "{reason}; each of {servers} servers has its own register of used tickets, and may execute it as often"
            ),
            None => reason,
        };
        self.line(
            "early requests",
            answer,
            reason,
            vec!["early-requests"],
            cost.into_iter().collect(),
        )
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
                    failed => format!(", {failed} of which failed"),
                };
                (load.server_us, format!("in a storm of {}{failed}", load.users), false)
            });
            storm.or_else(|| {
                let measured = super::price::WayCost::of(self.evidence, self.facts, way)?;
                Some((measured.server_us, "one after the other".to_owned(), measured.without_etcd))
            })
        };
        let full = Way::plain(Letter::A, super::candidates::full(self.facts).kx);
        let others = Some(full).filter(|full| *full != self.way);
        let cost: Vec<_> = [self.way]
            .into_iter()
            .chain(others)
            .filter_map(|way| {
                let (us, how, without_etcd) = server_us(way)?;
                let what = format!("server's processor for all, measured {how}");
                let all = Measurement::of(way, what, us * connections, Unit::Us);
                Some(all.without_etcd(without_etcd))
            })
            .collect();
        let answer = match cost.first().and_then(|own| own.numbers.first()) {
            Some(own) => format!("{} of one processor", milliseconds(own.value)),
            None => "not measured".to_owned(),
        };
        let mut reason = match connections {
            ..2.0 => "one connection reconnects after a fail-over".to_owned(),
            _ => format!("{connections} connections reconnect at once after a fail-over"),
        };
        for Load { way, users, failed, .. } in [self.way]
            .into_iter()
            .chain(others)
            .flat_map(|way| self.storms(way))
            .filter(|load| !load.is_storm_that_succeeded())
        {
            let letter = way.option.letter();
            reason += &format!("; a storm of {users} in ({letter}) doesn't count: {failed} failed");
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
            ..2.0 => "in the server's memory for one connection".to_owned(),
            many => format!("in the server's memory for {many} connections"),
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
