//! The cells to measure: rows and loads.

use std::time::Duration;

use tessera_reports::load::Kind;
use tessera_reports::{Store, Suite, Variant};

use super::options::Options;
use crate::variants;

/// A cell before it is measured.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) variant: Variant,
    pub(super) kind: Kind,
    pub(super) users: usize,
    /// From 1.
    pub(super) round: usize,
    pub(super) reconnections: usize,
    /// The round-trip time.
    pub(super) rtt: Duration,
}

impl Plan {
    /// Returns all cells that the options select, for each round-trip time: each variant with each number of users, before
    /// the next variant; then the storms of each size, round by round, each variant once in a round. Each round begins with
    /// another variant, so that none is always the first, or always after the same one. The suite is the paper's, and
    /// one-time keys are in the server's memory.
    pub(super) fn all(options: &Options) -> Vec<Self> {
        let variants: Vec<_> =
            variants::all().into_iter().filter(|variant| is_wanted(options, variant)).collect();
        let mut plans = Vec::new();
        for rtt in options.all_rtts() {
            let is_at = |kind| options.rtts(kind).contains(&rtt);
            for variant in variants.iter().filter(|_| is_at(Kind::Users)) {
                plans.extend(options.users.iter().map(|users| Self {
                    variant: *variant,
                    kind: Kind::Users,
                    users: *users,
                    round: 1,
                    reconnections: options.reconnections,
                    rtt,
                }));
            }
            for users in options.storms.iter().filter(|_| is_at(Kind::Storm)) {
                for round in 1..=options.rounds {
                    let mut order = variants.clone();
                    order.rotate_left((round - 1) % variants.len().max(1));
                    plans.extend(order.into_iter().map(|variant| Self {
                        variant,
                        kind: Kind::Storm,
                        users: *users,
                        round,
                        reconnections: 1,
                        rtt,
                    }));
                }
            }
        }
        plans
    }

    /// The same in milliseconds, as reports have it.
    pub(super) fn rtt_ms(&self) -> f64 {
        self.rtt.as_secs_f64() * 1e3
    }

    /// Returns how many connections all of them make.
    pub(super) fn connections(&self) -> usize {
        self.users * self.reconnections
    }
}

fn is_wanted(options: &Options, variant: &Variant) -> bool {
    let rows = &options.rows;
    let is_named = || rows.is_empty() || rows.iter().any(|row| variant.key().contains(row));
    is_of_the_grid(variant) && options.modes.contains(&variant.mode) && is_named()
}

/// Whether a variant is among those that are measured under load.
pub(super) fn is_of_the_grid(variant: &Variant) -> bool {
    (variant.suite, variant.store) == (Suite::default(), Store::Memory)
        && variants::all().contains(variant)
}

#[cfg(test)]
mod tests {
    use tessera_link::LinkKind;
    use tessera_reports::Mode;

    use super::*;

    fn options(rows: &[&str]) -> Options {
        Options {
            users: vec![1, 5],
            reconnections: 20,
            storms: vec![1_000],
            rounds: 1,
            rtts: Some(vec![Duration::ZERO]),
            modes: Mode::ALL.to_vec(),
            rows: rows.iter().map(|row| (*row).to_owned()).collect(),
            link: LinkKind::Loopback,
            seed: 1,
            resume: None,
            json: None,
        }
    }

    #[test]
    fn each_variant_has_each_load_once() {
        let plans = Plan::all(&options(&[]));
        // Of (a), (c), (d), (d') two each, of (b) one; of (e) three kinds of keys, two continuations.
        assert_eq!(plans.len(), (4 * 2 + 1 + 3 * 2) * 3);
        let mut names: Vec<_> = plans
            .iter()
            .map(|plan| (plan.variant.key(), plan.kind.name(), plan.users, plan.connections()))
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), plans.len());
        let storms = plans.iter().filter(|plan| plan.kind == Kind::Storm);
        assert!(storms.clone().count() > 0 && storms.clone().all(|plan| plan.reconnections == 1));
    }

    #[test]
    fn storms_run_in_rounds_each_of_which_begins_with_another_row() {
        let all = options(&["b/psk-only", "a/full"]);
        let plans = Plan::all(&Options { users: vec![], rounds: 4, storms: vec![9, 5], ..all });
        let of = |users, round| -> Vec<_> {
            let plans = plans.iter().filter(|plan| (plan.users, plan.round) == (users, round));
            plans.map(|plan| plan.variant.option.letter()).collect()
        };
        let rounds: Vec<_> = plans.iter().map(|plan| (plan.users, plan.round)).collect();
        assert!(rounds.is_sorted_by_key(|(users, round)| (9 - users, *round)), "{rounds:?}");
        for users in [9, 5] {
            let orders = [1, 2, 3, 4].map(|round| of(users, round).concat());
            assert_eq!(orders, ["aab", "aba", "baa", "aab"]);
        }
    }

    #[test]
    fn rows_are_chosen_by_parts_of_their_names() {
        let plans = Plan::all(&options(&["a/full/x25519mlkem768", "/none/x25519/psk_ke"]));
        let users = plans.iter().filter(|plan| plan.kind == Kind::Users);
        let keys: Vec<_> = users.step_by(2).map(|plan| plan.variant.key()).collect();
        assert_eq!(
            keys,
            [
                "a/full/x25519mlkem768/none/none/memory/0x1302",
                "e/0rtt-fs/none/x25519/psk_ke/memory/0x1302"
            ]
        );
        assert!(Plan::all(&options(&["f/"])).is_empty());
    }

    #[test]
    fn users_and_storms_have_round_trip_times_of_their_own_unless_one_is_asked_for() {
        let of = |rtts| {
            let plans = Plan::all(&Options { rtts, ..options(&["b/psk-only"]) });
            plans.iter().map(|plan| (plan.kind.name(), plan.rtt_ms())).collect::<Vec<_>>()
        };
        assert_eq!(of(None), [("users", 33.0), ("users", 33.0), ("storm", 134.0)]);
        let asked = [1, 2].map(Duration::from_millis).to_vec();
        let [one, two] = [1.0, 2.0].map(|ms| [("users", ms), ("users", ms), ("storm", ms)]);
        assert_eq!(of(Some(asked)), [one, two].concat());
    }
}
