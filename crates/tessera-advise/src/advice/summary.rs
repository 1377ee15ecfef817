//! The advice in four lines: the answer, the settings, the saving, and the risk.

use crate::evidence::{ForwardSecrecy, Letter, Store};
use crate::facts::Application;

use super::measurements;
use super::numbers::milliseconds;
use super::price::{WayCost, at_home};
use super::refusal::why_unsure;
use super::rules::{registers, ruled_out};
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
                    format!("; of ({letter}) {n}: {}", why_unsure(samples))
                }
                None => format!("; ({}) may be used, but wasn't measured", option.letter()),
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
        format!("set: {in_words} ({page})")
    }

    fn saves(&self) -> String {
        if self.way.option == Letter::A {
            return "saves: nothing; the other ways are compared with this one".to_owned();
        }
        let baseline = self.baseline();
        let Some(against) = measurements::against(self.evidence, self.facts, self.way, baseline)
        else {
            return format!("saves: not known, since {baseline} wasn't measured");
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
            true => format!(
                ", on average: one of {} reconnections finds its server, the others resume as in ({letter})",
                self.facts.servers
            ),
            false => String::new(),
        };
        format!("saves: {}, against ({letter}){behind}{homes}", numbers.join(", "))
    }

    fn risks(&self) -> String {
        let Some(found) = self.evidence.protection(self.way) else {
            return "risks: not known; it wasn't attacked".to_owned();
        };
        let mut risks = Vec::new();
        let executions = found.executions;
        match registers(self.facts, self.way) {
            Some(servers) => risks.push(format!(
                "a replayed request was executed {executions}× by one server, and each of {servers} has its own \
                 register"
            )),
            None if executions > 1 => {
                risks.push(format!("a replayed request was executed {executions} times"));
            }
            None => {}
        }
        risks.extend(match (found.session, found.first_byte) {
            (ForwardSecrecy::None, _) => {
                Some("an attacker who steals a ticket key later reads whole sessions".to_owned())
            }
            (_, ForwardSecrecy::None) => {
                Some("an attacker who steals a ticket key later reads early data".to_owned())
            }
            (_, ForwardSecrecy::FromDeletionByBoth) => {
                Some("early data is protected only once both ends have really deleted the PSK".to_owned())
            }
            // docs/vaults.md: etcd retains deleted values for a while.
            (session, ForwardSecrecy::FromTakeOrExpiry) if self.way.store == Store::Etcd => {
                let what = match session {
                    ForwardSecrecy::FromTakeOrExpiry => "early data and its session are",
                    _ => "early data is",
                };
                Some(format!(
                    "{what} readable for an attacker who steals its key from etcd, and the epoch's key before that \
                     epoch ends (docs/vaults.md)"
                ))
            }
            (ForwardSecrecy::FromTakeOrExpiry | ForwardSecrecy::FromEpochEnd, _) => Some(format!(
                "an attacker who reads the server's vault before a flight arrives, or steals the key of a lost one \
                 while it lives ({}), reads the whole connection",
                settings::hours(self.lifetimes.one_time_key)
            )),
            (_, ForwardSecrecy::FromTakeOrExpiry | ForwardSecrecy::FromEpochEnd) => Some(format!(
                "a lost flight is readable for an attacker who steals its key while that lives ({})",
                settings::hours(self.lifetimes.one_time_key)
            )),
            (_, ForwardSecrecy::Handshake) => None,
        });
        if !found.post_quantum {
            risks.push("a quantum computer opens recordings".to_owned());
        }
        if found.way.store != self.way.store {
            risks.push("it was attacked with keys in memory, not in etcd".to_owned());
        }
        match risks.is_empty() {
            true => "risks: the lab's adversary found none".to_owned(),
            false => format!("risks: {}", risks.join("; ")),
        }
    }
}
