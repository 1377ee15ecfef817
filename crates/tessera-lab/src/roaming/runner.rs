//! Measures one cell after the other, each by what it goes through.

use std::net::SocketAddr;

use tessera_link::{Link, LinkError};

use super::engine::{self, Timers};
use super::progress::Progress;
use super::report::{Cell, CellName, Through};
use super::{links, sepps};
use crate::bench::Bench;
use crate::error::{LabError, link_words};
use crate::experiment::Etcd;
use crate::variants::Store;

/// What cells are measured with, for as long as the experiment lasts.
pub(super) struct Runner {
    // Before the bench, and so before the link: a process at one of its ends.
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

    /// Measures cells that go through the same: in memory all of them in turns, else one after the other.
    pub(super) fn measure(
        &mut self,
        names: &[&CellName],
        repetitions: usize,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        if names.first().is_some_and(|name| name.through == Through::Engine) {
            progress.screen.now("in memory");
            let measured = self.in_memory(names, repetitions, || progress.screen.advance());
            let beside = self.beside;
            let measured = measured.into_iter().map(|it| it.map(|cell| Cell { beside, ..cell }));
            return names.iter().zip(measured).try_for_each(|(name, it)| progress.add(name, it));
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
            names.iter().map(|name| (*name, address(name, &mut self.etcd_here, Etcd::start)));
        engine::measure(cells.collect(), &self.bench.pki, &self.timers, repetitions, done)
    }

    /// Measures a cell with processes at both ends of the link.
    ///
    /// # Errors
    /// Why it has no numbers, in words.
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
        let etcd = address(name, &mut self.etcd_at_server, || Etcd::start_at_server(link))?;
        if name.through == Through::Sepp {
            let measured = sepps::measure(link, name, etcd, repetitions, seed, done);
            return measured.map_err(|error| error.to_string());
        }
        let measured = links::measure(&mut self.bench, name, etcd, repetitions, seed, done);
        measured.map_err(|error| {
            // The next cell begins with processes to which nothing happened.
            match self.bench.restart() {
                Ok(()) => error.to_string(),
                Err(worse) => format!("{error}; and afterwards: {worse}"),
            }
        })
    }
}

/// Where the etcd is that a cell needs, which is started for the first one.
fn address(
    name: &CellName,
    etcd: &mut Option<Result<Etcd, String>>,
    start: impl FnOnce() -> Result<Etcd, String>,
) -> Result<Option<SocketAddr>, String> {
    if name.variant.store == Store::Memory {
        return Ok(None);
    }
    match etcd.get_or_insert_with(start) {
        Ok(etcd) => Ok(Some(etcd.address())),
        Err(reason) => Err(reason.clone()),
    }
}
