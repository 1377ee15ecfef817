//! The advice in four lines: the answer, the settings, the saving, and the risk.

use crate::evidence::{ForwardSecrecy, Letter, Store};
use crate::facts::Application;

use super::measurements;
use super::numbers::milliseconds;
use super::price::{WayCost, at_home};
use super::refusal::why_unsure;
use super::rules::{registers, ruled_out};
use super::sentences::{self as say, fill};
use super::{Choice, candidates, settings};

impl Choice<'_> {
    /// Returns at most four lines.
    pub(super) fn summary(&self) -> Vec<String> {
        vec![self.answer(), self.set(), self.saves(), self.risks()]
    }

    /// Names the way, and the alternative that more measurements might favour.
    fn answer(&self) -> String {
        let mut answer = self.way.to_string();
        for option in Letter::ALL.into_iter().filter(|option| *option != self.way.option) {
            let mut ways = candidates::candidates(self.facts).into_iter();
            let permitted = ways.find(|way| {
                way.option == option && ruled_out(self.evidence, self.facts, *way).is_none()
            });
            let Some(way) = permitted else { continue };
            answer += &match WayCost::of(self.evidence, self.facts, way) {
                Some(measured) if measured.is_certain() => continue,
                Some(WayCost { samples, failed, .. }) => {
                    let (letter, n) = (option.letter(), measurements::count(samples, failed));
                    fill(say::OF_OTHER, &[&letter, &n, &why_unsure(samples)])
                }
                None => fill(say::OTHER_UNMEASURED, &[&option.letter()]),
            };
        }
        answer
    }

    fn set(&self) -> String {
        let in_words = settings::in_one_line(self.way, self.facts, &self.lifetimes);
        let page = match self.facts.application {
            Application::Sepp => "docs/sepp.md",
            Application::Tunnel => "docs/tunnel.md",
            Application::Own => "docs/library.md",
        };
        fill(say::SET, &[&in_words, &page])
    }

    fn saves(&self) -> String {
        if self.way.option == Letter::A {
            return say::SAVES_NOTHING.to_owned();
        }
        let baseline = self.baseline();
        let Some(against) = measurements::against(self.evidence, self.facts, self.way, baseline)
        else {
            return fill(say::SAVES_UNKNOWN, &[&baseline]);
        };
        // Of all reconnections, including those to another server.
        let home = at_home(self.facts, self.way);
        let numbers: Vec<_> = against
            .numbers
            .iter()
            .filter_map(|number| {
                let number = number.scaled(home);
                let time = milliseconds(number.value.abs());
                let off = number.uncertainty.map(|off| format!(" ± {}", milliseconds(off)));
                let off = off.unwrap_or_default();
                match (number.what.as_str(), number.value < 0.0) {
                    ("response", true) => Some(format!("responses {time}{off} sooner")),
                    ("response", false) => Some(format!("responses {time}{off} later")),
                    (measurements::PROCESSOR, true) => Some(format!("{time}{off} less processor")),
                    (measurements::PROCESSOR, false) => Some(format!("{time}{off} more processor")),
                    (measurements::IN_ALL, _) => Some(format!("{:+.0} bytes", number.value)),
                    _ => None,
                }
            })
            .collect();
        let behind = against.behind();
        let letter = baseline.option.letter();
        let homes = match home < 1.0 {
            true => fill(say::ON_AVERAGE, &[&self.facts.servers, &letter]),
            false => String::new(),
        };
        fill(say::SAVES, &[&numbers.join(", "), &letter, &behind, &homes])
    }

    fn risks(&self) -> String {
        let Some(found) = self.evidence.protection(self.way) else {
            return say::RISKS_UNKNOWN.to_owned();
        };
        let mut risks = Vec::new();
        let executions = found.executions;
        match registers(self.facts, self.way) {
            Some(servers) => risks.push(fill(say::REPLAYED_AT_ONE, &[&executions, &servers])),
            None if executions > 1 => risks.push(fill(say::REPLAYED, &[&executions])),
            None => {}
        }
        let lives = settings::hours(self.lifetimes.one_time_key);
        risks.extend(match (found.session, found.first_byte) {
            (ForwardSecrecy::None, _) => Some(say::SESSIONS_OPEN.to_owned()),
            (_, ForwardSecrecy::None) => Some(say::EARLY_DATA_OPEN.to_owned()),
            (_, ForwardSecrecy::FromDeletionByBoth) => Some(say::UNTIL_DELETED.to_owned()),
            // docs/vaults.md: etcd retains deleted values for a while.
            (session, ForwardSecrecy::FromTakeOrExpiry) if self.way.store == Store::Etcd => {
                let what = match session {
                    ForwardSecrecy::FromTakeOrExpiry => say::BOTH_ARE,
                    _ => say::EARLY_DATA_IS,
                };
                Some(fill(say::UNTIL_EPOCH_ENDS, &[&what]))
            }
            (ForwardSecrecy::FromTakeOrExpiry | ForwardSecrecy::FromEpochEnd, _) => {
                Some(fill(say::CONNECTION_OPEN, &[&lives]))
            }
            (_, ForwardSecrecy::FromTakeOrExpiry | ForwardSecrecy::FromEpochEnd) => {
                Some(fill(say::LOST_FLIGHT_OPEN, &[&lives]))
            }
            (_, ForwardSecrecy::Handshake) => None,
        });
        if !found.post_quantum {
            risks.push(say::QUANTUM_OPENS.to_owned());
        }
        if found.way.store != self.way.store {
            risks.push(say::ATTACKED_IN_MEMORY.to_owned());
        }
        match risks.is_empty() {
            true => say::NO_RISKS.to_owned(),
            false => fill(say::RISKS, &[&risks.join("; ")]),
        }
    }
}
