//! The cells of the experiment.

use tessera_link::NatKind;

use super::arm::{Arm, Stack};
use super::client::Detection;
use super::report::{CellName, Part, Through};
use super::scenario::{Change, Scenario, TIMEOUT};

/// The delays of the paper's Table I, one way, in milliseconds.
pub(crate) const DELAYS_MS: [f64; 3] = [5.0, 30.0, 100.0];

/// The delay of cells in which another factor differs.
const DELAY_MS: f64 = 30.0;

/// The paper's acknowledgements.
const ACKS: u32 = 600;

/// Those of cells over sockets in which a factor differs: they wait, and there are many.
const FEW_ACKS: u32 = 60;

/// How long the path is usable, at least, before it goes again where there are fewer than the paper's: they meet hand-overs.
const FEW_ACKS_USABLE_MS: u32 = 2_500;

/// The same in round trips, with a time-out: long enough for each arm to connect again.
const FEW_ACKS_USABLE_TRIPS: u32 = 8;

/// The selection of cells.
#[derive(Clone, Copy)]
pub(super) struct CellSelection<'a> {
    pub(super) parts: &'a [Part],
    pub(super) through: &'a [Through],
    pub(super) arms: &'a [Arm],
    /// Instead of those of each cell.
    pub(super) acks: Option<u32>,
}

/// Returns all selected cells, in the order in which they run.
pub(super) fn cells(asked: &CellSelection<'_>) -> Vec<CellName> {
    let mut cells = Vec::new();
    for part in asked.parts {
        for through in asked.through {
            for scenario in scenarios(*part) {
                let able = asked.arms.iter().filter(|arm| can_be(**arm, *through, &scenario));
                cells.extend(able.map(|arm| cell(*part, *through, *arm, scenario.clone(), asked)));
            }
        }
    }
    cells
}

fn cell(
    part: Part,
    through: Through,
    arm: Arm,
    scenario: Scenario,
    asked: &CellSelection<'_>,
) -> CellName {
    let is_long = part == Part::Paper || through == Through::Virtual;
    let acks = asked.acks.unwrap_or(if is_long { ACKS } else { FEW_ACKS });
    let period_ms = match acks < ACKS {
        true => scenario.outage_ms + usable_ms(&scenario),
        false => scenario.period_ms,
    };
    CellName { part, through, arm, acks, scenario: Scenario { period_ms, ..scenario } }
}

/// Returns how long the path is usable before it goes again, where acknowledgements are few.
fn usable_ms(scenario: &Scenario) -> u32 {
    let long = scenario.round_trip() * FEW_ACKS_USABLE_TRIPS + TIMEOUT * 2;
    FEW_ACKS_USABLE_MS.max(long.as_millis() as u32)
}

/// Whether an arm has this scenario. An association of ours with a socket of its own has no resets, and a server that restarts
/// has lost its port. One whose association doesn't survive has one interface, and it alone counts time-outs; virtual time is for
/// ours.
fn can_be(arm: Arm, through: Through, scenario: &Scenario) -> bool {
    let is_ours = arm.stack() == Stack::Ours;
    let can_restart = scenario.change != Change::Restart || !(is_ours && arm.has_own_socket());
    let fits = match arm.survives() {
        true => scenario.timeouts == 1,
        false => scenario.interfaces == 1,
    };
    fits && can_restart && (is_ours || through == Through::Sockets)
}

fn scenarios(part: Part) -> Vec<Scenario> {
    let near = || Scenario::of_paper(DELAY_MS);
    let of_paper = DELAYS_MS.into_iter().map(Scenario::of_paper);
    match part {
        Part::Paper => of_paper
            .flat_map(|of_paper| {
                let twice = Scenario { timeouts: 2, ..of_paper.clone() };
                let two = Scenario { interfaces: 2, ..of_paper.clone() };
                [twice, of_paper, two]
            })
            .collect(),
        Part::Detection => of_paper
            .flat_map(|of_paper| {
                let by =
                    |detection, interfaces| Scenario { detection, interfaces, ..of_paper.clone() };
                [by(Detection::Rtt3, 1), by(Detection::Event, 1), by(Detection::Event, 2)]
            })
            .collect(),
        Part::Change => of_paper
            .flat_map(|of_paper| {
                let of = |change| Scenario { change, ..of_paper.clone() };
                let behind = |nat| Scenario { nat: Some(nat), ..of(Change::Rebinding) };
                // Behind the second one IPC has no association.
                let rebinding = [NatKind::FullCone, NatKind::PortRestricted].map(behind);
                [of(Change::SameAddress)].into_iter().chain(rebinding).chain([of(Change::Restart)])
            })
            .collect(),
        Part::Delay => vec![Scenario::of_paper(250.0)],
        Part::Loss => [(0.01, 1.0), (0.05, 1.0), (0.05, 3.0)]
            .map(|(loss, loss_burst)| Scenario { loss, loss_burst, ..near() })
            .to_vec(),
        Part::Outage => {
            [100, 1000, 3000].map(|outage_ms| Scenario { outage_ms, ..near() }).to_vec()
        }
        Part::Nat => NatKind::ALL.map(|nat| Scenario { nat: Some(nat), ..near() }).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of(part: Part, through: Through) -> Vec<CellName> {
        let (parts, through) = (&[part][..], &[through][..]);
        cells(&CellSelection { parts, through, arms: &Arm::ALL, acks: None })
    }

    #[test]
    fn every_cell_occurs_in_the_grid_once() {
        let (parts, through) = (&Part::ALL, &Through::ALL);
        let cells = cells(&CellSelection { parts, through, arms: &Arm::ALL, acks: None });
        let keys: HashSet<_> = cells.iter().map(CellName::key).collect();
        assert_eq!(keys.len(), cells.len());
    }

    #[test]
    fn the_paper_s_run_has_both_readings_or_both_numbers_of_interfaces_of_each_arm() {
        let ours = Arm::ALL.iter().filter(|arm| arm.stack() == Stack::Ours).count();
        assert_eq!(of(Part::Paper, Through::Virtual).len(), DELAYS_MS.len() * 2 * ours);
        let sockets = of(Part::Paper, Through::Sockets);
        assert_eq!(sockets.len(), DELAYS_MS.len() * 2 * Arm::ALL.len());
        assert!(sockets.iter().all(|it| it.acks == 600 && it.scenario.period_ms == 10_000));
    }

    #[test]
    fn few_acknowledgements_meet_a_hand_over() {
        for part in Part::ALL.into_iter().filter(|part| *part != Part::Paper) {
            for cell in of(part, Through::Sockets) {
                let first = cell.scenario.schedule(super::super::LONGEST, 1).hand_overs[0];
                let between = cell.scenario.round_trip().max(super::super::scenario::PACE);
                assert!(first.at < between * cell.acks, "{}", cell.key());
            }
        }
    }
}
