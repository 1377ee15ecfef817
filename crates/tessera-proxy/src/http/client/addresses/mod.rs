//! The addresses of a peer, chosen by priority and weight; sick ones are avoided.

mod health;
mod srv;

use tokio::time::Instant;

pub(super) use self::health::{Cause, Health};
pub use self::srv::{Srv, SrvError};
use super::PoolOptions;
use crate::address::DialAddress;
use crate::dial::{DialOptions, Dialler};

/// One address of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The address.
    pub address: DialAddress,
    /// Those of the lowest number are used while one of them can be reached (RFC 2782).
    pub priority: u16,
    /// Its share among those of its priority.
    pub weight: u16,
}

impl Target {
    /// Creates a target with the same priority and weight as all others.
    pub fn new(address: DialAddress) -> Self {
        Self { address, priority: 0, weight: 1 }
    }
}

/// Where a pool's addresses come from.
#[derive(Debug)]
pub enum Addresses {
    /// A fixed list.
    Fixed(Vec<Target>),
    /// DNS, queried again when its answer has expired.
    Srv(Box<Srv>),
}

impl From<DialAddress> for Addresses {
    fn from(address: DialAddress) -> Self {
        Self::Fixed(vec![Target::new(address)])
    }
}

impl From<Vec<Target>> for Addresses {
    fn from(targets: Vec<Target>) -> Self {
        Self::Fixed(targets)
    }
}

impl From<Srv> for Addresses {
    fn from(srv: Srv) -> Self {
        Self::Srv(Box::new(srv))
    }
}

/// An address and its health.
pub(super) struct Place {
    pub(super) target: Target,
    pub(super) dialler: Dialler,
    pub(super) health: Health,
    /// Connections being opened, until their handshake is complete.
    pub(super) opening: usize,
}

impl Place {
    /// Counts a completed handshake.
    pub(super) fn opened(&mut self) {
        self.opening = self.opening.saturating_sub(1);
        self.health.recovered();
    }
}

/// The addresses known now.
#[derive(Default)]
pub(super) struct Places(Vec<Place>);

impl Places {
    /// Replaces the addresses, and keeps the health of those that stay.
    pub(super) fn replace(&mut self, targets: Vec<Target>, options: &PoolOptions) {
        let mut earlier = std::mem::take(&mut self.0);
        for target in targets {
            if self.of(&target.address).is_some() {
                continue;
            }
            let known = earlier.iter().position(|place| place.target.address == target.address);
            let place = match known {
                Some(index) => Place { target, ..earlier.swap_remove(index) },
                None => {
                    let dialling =
                        DialOptions { deadline: options.connect, ..DialOptions::default() };
                    let dialler = Dialler::new(target.address.clone(), dialling);
                    Place { target, dialler, health: Health::default(), opening: 0 }
                }
            };
            self.0.push(place);
        }
    }

    pub(super) fn of(&mut self, address: &DialAddress) -> Option<&mut Place> {
        self.0.iter_mut().find(|place| place.target.address == *address)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Place> {
        self.0.iter()
    }

    /// Chooses the next address by RFC 2782: by weight among the healthy addresses of the lowest priority that has any.
    /// Addresses to which no connection is being opened go first. `random` is below 1.
    pub(super) fn choose(&mut self, now: Instant, random: f64) -> Option<&mut Place> {
        let fits = |place: &Place, unused: bool| {
            !place.health.is_sick(now) && (!unused || place.opening == 0)
        };
        let best = |unused| {
            let fitting = self.0.iter().filter(|place| fits(place, unused));
            fitting.map(|place| place.target.priority).min()
        };
        let (priority, unused) = match best(true) {
            Some(priority) => (priority, true),
            None => (best(false)?, false),
        };
        let may = |place: &Place| place.target.priority == priority && fits(place, unused);
        // Addresses of weight 0 get a very small chance (RFC 2782).
        let weight = |place: &Place| f64::from(place.target.weight).max(0.01);
        let all: f64 = self.0.iter().filter(|place| may(place)).map(weight).sum();
        let mut left = random * all;
        let chosen = self.0.iter().position(|place| {
            let may = may(place);
            if may {
                left -= weight(place);
            }
            may && left < 0.0
        });
        // The sums may round differently.
        let chosen = chosen.or_else(|| self.0.iter().rposition(may))?;
        self.0.get_mut(chosen)
    }

    /// If all are sick, returns when the first address may be tried again, and its last failure.
    pub(super) fn recovery(&self) -> Option<(Instant, Option<Cause>)> {
        let sick = self.0.iter().filter_map(|place| Some((place.health.sick_until()?, place)));
        let first = sick.min_by_key(|(until, _)| *until);
        first.map(|(until, place)| (until, place.health.cause()))
    }
}

#[cfg(test)]
mod tests;
