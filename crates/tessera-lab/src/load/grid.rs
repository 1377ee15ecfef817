//! What is measured: rows and loads.

use serde::{Deserialize, Serialize};

use super::options::Options;
use crate::variants::{Store, Suite, Variant};

/// How users come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Each comes back again and again, and registers each time.
    Users,
    /// All had a connection, and come back at once.
    Storm,
}

impl Kind {
    /// Its name in reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Storm => "storm",
        }
    }
}

/// A cell before it is measured.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) variant: Variant,
    pub(super) kind: Kind,
    pub(super) users: usize,
    pub(super) reconnections: usize,
}

impl Plan {
    /// All that the options ask for: each variant under each load, before the next variant. The suite is the
    /// paper's, and one-time keys are in the server's memory.
    pub(super) fn all(options: &Options) -> Vec<Self> {
        let loads = options.users.iter().map(|users| (Kind::Users, *users, options.reconnections));
        let storms = options.storms.iter().map(|users| (Kind::Storm, *users, 1));
        let loads: Vec<_> = loads.chain(storms).collect();
        let variants = Variant::all().into_iter().filter(|variant| is_wanted(options, variant));
        let plan = |variant| {
            let of =
                move |&(kind, users, reconnections)| Self { variant, kind, users, reconnections };
            loads.iter().map(of).collect::<Vec<_>>()
        };
        variants.flat_map(plan).collect()
    }

    /// How many connections all of them make.
    pub(super) fn connections(&self) -> usize {
        self.users * self.reconnections
    }
}

fn is_wanted(options: &Options, variant: &Variant) -> bool {
    let rows = &options.rows;
    let is_named = || rows.is_empty() || rows.iter().any(|row| variant.key().contains(row));
    (variant.suite, variant.store) == (Suite::default(), Store::Memory)
        && options.modes.contains(&variant.mode)
        && is_named()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tessera_link::LinkKind;

    use super::*;
    use crate::ways::Mode;

    fn options(rows: &[&str]) -> Options {
        Options {
            users: vec![1, 5],
            reconnections: 20,
            storms: vec![1_000],
            rtts: vec![Duration::ZERO],
            modes: Mode::ALL.to_vec(),
            rows: rows.iter().map(|row| (*row).to_owned()).collect(),
            share: None,
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
}
