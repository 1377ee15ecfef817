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
    pub(super) reconnections: usize,
    /// The round-trip time.
    pub(super) rtt: Duration,
}

impl Plan {
    /// Returns all cells that the options select: for each round-trip time each variant under each load, before the
    /// next variant. The suite is the paper's, and one-time keys are in the server's memory.
    pub(super) fn all(options: &Options) -> Vec<Self> {
        let variants: Vec<_> =
            variants::all().into_iter().filter(|variant| is_wanted(options, variant)).collect();
        let at = |rtt: Duration| {
            let is_at = |kind| options.rtts(kind).contains(&rtt);
            let users = options.users.iter().filter(move |_| is_at(Kind::Users));
            let storms = options.storms.iter().filter(move |_| is_at(Kind::Storm));
            let users = users.map(|users| (Kind::Users, *users, options.reconnections));
            let loads: Vec<_> = users.chain(storms.map(|users| (Kind::Storm, *users, 1))).collect();
            variants.iter().flat_map(move |variant| {
                let of = |(kind, users, reconnections)| Self {
                    variant: *variant,
                    kind,
                    users,
                    reconnections,
                    rtt,
                };
                loads.clone().into_iter().map(of).collect::<Vec<_>>()
            })
        };
        options.all_rtts().into_iter().flat_map(at).collect()
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
    fn rows_are_chosen_by_parts_of_their_names() {
        let plans = Plan::all(&options(&["a/full/x25519mlkem768", "/none/x25519/psk_ke"]));
        let keys: Vec<_> = plans.iter().step_by(3).map(|plan| plan.variant.key()).collect();
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
