//! Measures one cell after the other, by what carries it.

use std::net::SocketAddr;

use tessera_link::{Link, LinkError};
use tessera_reports::roaming::{Cell, CellName, Setup};
use tessera_reports::{Store, Variant};

use super::engine::{self, Timers};
use super::progress::Progress;
use super::{links, sepps};
use crate::bench::Bench;
use crate::error::{LabError, link_words};
use crate::experiment::{Etcd, Place};

/// The resources for measuring cells, for the duration of the experiment.
pub(super) struct Runner {
    // Dropped before the bench, and so before the link: a process at one of its ends.
    etcd_at_server: Option<Result<Etcd, String>>,
    etcd_here: Option<Result<Etcd, String>>,
    bench: Bench,
    timers: Timers,
    seed: u64,
    /// How many other runs measure at the same time.
    beside: usize,
    /// Why links emulate nothing, if they don't.
    no_emulation: Option<String>,
}

impl Runner {
    pub(super) fn start(link: Link, seed: u64, beside: usize) -> Result<Self, LabError> {
        let no_emulation = (!link.emulates()).then(|| match link.fallback_reason() {
            Some(reason) => link_words(reason),
            None => link_words(&LinkError::NoEmulation { reason: None }),
        });
        let bench = Bench::start(link)?;
        let timers = Timers::new();
        Ok(Self {
            etcd_at_server: None,
            etcd_here: None,
            bench,
            timers,
            seed,
            beside,
            no_emulation,
        })
    }

    /// Measures cells with the same carrier: in memory those of one suite and one store in turns, otherwise one after
    /// the other.
    pub(super) fn measure(
        &mut self,
        names: &[&CellName],
        repetitions: usize,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        if names.first().is_some_and(|name| name.through == Setup::Engine) {
            progress.screen.now("in memory");
            let beside = self.beside;
            for names in batches(names) {
                let measured = self.in_memory(&names, repetitions, || progress.screen.advance());
                for (name, measured) in names.into_iter().zip(measured) {
                    progress.add(name, measured.map(|cell| Cell { beside, ..cell }))?;
                }
            }
            return Ok(());
        }
        for name in names {
            progress.screen.now(name.variant.mode.name());
            let measured = self.over_link(name, repetitions, || progress.screen.advance());
            progress.add(name, measured.map(|cell| Cell { beside: self.beside, ..cell }))?;
        }
        Ok(())
    }

    fn in_memory(
        &mut self,
        names: &[&CellName],
        repetitions: usize,
        done: impl Fn(),
    ) -> Vec<Result<Cell, String>> {
        let cells =
            names.iter().map(|name| (*name, address(name, &mut self.etcd_here, Place::Here)));
        engine::measure(cells.collect(), &self.bench.pki, &self.timers, repetitions, done)
    }

    /// Measures a cell with processes at both ends of the link.
    ///
    /// # Errors
    /// The error is why it has no numbers.
    fn over_link(
        &mut self,
        name: &CellName,
        repetitions: usize,
        done: impl Fn(),
    ) -> Result<Cell, String> {
        if name.link.needs_emulation()
            && let Some(reason) = &self.no_emulation
        {
            return Err(reason.clone());
        }
        let (link, seed) = (&self.bench.link, self.seed);
        let etcd = address(name, &mut self.etcd_at_server, Place::AtServer(link))?;
        if name.through == Setup::Sepp {
            let measured = sepps::measure(link, name, etcd, repetitions, seed, done);
            return measured.map_err(|error| error.to_string());
        }
        let measured = links::measure(&mut self.bench, name, etcd, repetitions, seed, done);
        measured.map_err(|error| {
            // The next cell starts with fresh processes.
            match self.bench.restart() {
                Ok(()) => error.to_string(),
                Err(worse) => format!("{error}; and afterwards: {worse}"),
            }
        })
    }
}

/// Returns the cells to measure together: those that are compared closely. All cells of a batch finish at once, so an
/// interruption only loses one batch.
fn batches<'n>(names: &[&'n CellName]) -> Vec<Vec<&'n CellName>> {
    let of = |variant: &Variant| (variant.suite, variant.store);
    let mut batches: Vec<Vec<&CellName>> = Vec::new();
    for name in names {
        let same = |batch: &&mut Vec<&CellName>| {
            batch.first().is_some_and(|first| of(&first.variant) == of(&name.variant))
        };
        match batches.iter_mut().find(same) {
            Some(batch) => batch.push(name),
            None => batches.push(vec![name]),
        }
    }
    batches
}

/// Returns the address of the etcd that a cell needs. It is started for the first one, and again if it is gone. One
/// that could not be started is not tried again.
fn address(
    name: &CellName,
    etcd: &mut Option<Result<Etcd, String>>,
    place: Place<'_>,
) -> Result<Option<SocketAddr>, String> {
    if name.variant.store == Store::Memory {
        return Ok(None);
    }
    if let Some(Ok(running)) = etcd
        && !running.is_there(place)
    {
        *etcd = None;
    }
    match etcd.get_or_insert_with(|| Etcd::start(place)) {
        Ok(etcd) => Ok(Some(etcd.address())),
        Err(reason) => Err(reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::EtcdStore;
    use crate::roaming::grid;

    fn with(store: Store) -> CellName {
        grid::cells().into_iter().find(|name| name.variant.store == store).unwrap()
    }

    /// Skipped without etcd.
    #[test]
    fn an_etcd_that_died_is_started_again_for_the_next_cell() {
        let (memory, name) = (with(Store::Memory), with(Store::Etcd));
        let mut etcd = None;
        assert_eq!(address(&memory, &mut etcd, Place::Here), Ok(None));
        assert!(etcd.is_none());
        let first = match address(&name, &mut etcd, Place::Here) {
            Ok(first) => first,
            Err(reason) => {
                assert!(reason.contains("not on PATH"), "{reason}");
                eprintln!("not run: {reason}");
                return;
            }
        };
        assert_eq!(address(&name, &mut etcd, Place::Here), Ok(first), "one is enough");
        etcd.as_mut().unwrap().as_mut().unwrap().crash();
        let second = address(&name, &mut etcd, Place::Here).unwrap().unwrap();
        assert!(EtcdStore::open(second).is_ok());
    }

    #[test]
    fn a_batch_in_memory_is_of_one_suite_and_one_store() {
        let cells = grid::cells();
        let names: Vec<_> = cells.iter().filter(|it| it.through == Setup::Engine).collect();
        let batches = batches(&names);
        assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [15, 6, 15, 6]);
        let mut keys: Vec<_> = batches.iter().flatten().map(|name| name.key()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), names.len());
    }
}
