//! Measures one cell after the other, each by what it goes through.

use tessera_link::{Link, LinkError};

use super::engine::{self, Timers};
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
    /// Why links emulate nothing, if they don't.
    no_emulation: Option<String>,
}

impl Runner {
    pub(super) fn start(link: Link, seed: u64) -> Result<Self, LabError> {
        let no_emulation = (!link.emulates()).then(|| match link.fallback_reason() {
            Some(reason) => link_words(reason),
            None => link_words(&LinkError::NoEmulation { reason: None }),
        });
        let bench = Bench::start(link)?;
        let timers = Timers::new();
        Ok(Self { etcd_at_server: None, etcd_here: None, bench, timers, seed, no_emulation })
    }

    /// Measures a cell.
    ///
    /// # Errors
    /// Why it has no numbers, in words.
    pub(super) fn measure(
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
        let measured = match name.through {
            Through::Engine => {
                let etcd = address(name, &mut self.etcd_here, Etcd::start)?;
                engine::measure(name, &self.bench.pki, &self.timers, etcd, repetitions, done)
            }
            Through::Endpoints => {
                let link = &self.bench.link;
                let etcd = address(name, &mut self.etcd_at_server, || Etcd::start_at_server(link))?;
                let measured =
                    links::measure(&mut self.bench, name, etcd, repetitions, self.seed, done);
                if measured.is_err() {
                    // The next cell begins with processes that nothing happened to.
                    self.bench.restart().map_err(|error| error.to_string())?;
                }
                measured
            }
            Through::Sepp => {
                let link = &self.bench.link;
                let etcd = address(name, &mut self.etcd_at_server, || Etcd::start_at_server(link))?;
                sepps::measure(link, name, etcd, repetitions, self.seed, done)
            }
        };
        measured.map_err(|error| error.to_string())
    }
}

/// Where the etcd is that a cell needs, which is started for the first one.
fn address(
    name: &CellName,
    etcd: &mut Option<Result<Etcd, String>>,
    start: impl FnOnce() -> Result<Etcd, String>,
) -> Result<Option<std::net::SocketAddr>, String> {
    if name.variant.store == Store::Memory {
        return Ok(None);
    }
    match etcd.get_or_insert_with(start) {
        Ok(etcd) => Ok(Some(etcd.address())),
        Err(reason) => Err(reason.clone()),
    }
}
