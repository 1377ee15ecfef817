//! The parts of the experiment that need no link: computation and memory.

use super::report::{End, EntryContent, Hits, LargeCache, Memory, Part, Peak, Work};
use super::{Experiment, failed, hits, memory, work};
use crate::error::LabError;

impl Experiment<'_> {
    /// Measures the computation.
    pub(super) fn work(&mut self) -> Result<(), LabError> {
        self.begin::<Work>(Part::Work)?;
        for certificates in self.options.certificates.iter().copied() {
            let ways = work::ways(&self.options.ways, certificates);
            for chain in work::CHAINS {
                let is_it = |it: &Work| {
                    (it.certificates, it.chain) == (certificates, chain) && ways.contains(&it.way)
                };
                let place = |it: &Work| ways.iter().position(|way| *way == it.way);
                self.results(is_it, place, |this, there| {
                    let is_left = |way: &_| there.iter().all(|it: &Work| it.way != *way);
                    let left: Vec<_> = ways.iter().copied().filter(is_left).collect();
                    (0..there.len() * this.computed()).for_each(|_| this.screen.advance());
                    let advance = || this.screen.advance();
                    work::measure(&left, certificates, chain, this.computed(), advance)
                        .map_err(|error| failed(certificates.to_string(), error))
                })?;
            }
        }
        Ok(())
    }

    /// Measures caches that know only some of the peers.
    pub(super) fn hits(&mut self) -> Result<(), LabError> {
        self.begin::<Hits>(Part::Hits)?;
        for certificates in self.options.certificates.iter().copied() {
            let is_it = |it: &Hits| it.certificates == certificates;
            let place = |it: &Hits| hits::RATES.iter().position(|rate| Some(*rate) == it.rate);
            self.results(is_it, place, |this, there| {
                if there.len() == 1 + hits::RATES.len() {
                    return Ok(Vec::new());
                }
                let advance = || this.screen.advance();
                let mut all = hits::measure(certificates, this.computed(), advance)
                    .map_err(|error| failed(format!("hits with {certificates}"), error))?;
                all.retain(|it| there.iter().all(|other| other.rate != it.rate));
                Ok(all)
            })?;
        }
        Ok(())
    }

    /// Measures the memory of remembered peers.
    pub(super) fn memory(&mut self) -> Result<(), LabError> {
        self.begin::<Memory>(Part::Memory)?;
        let ends = || {
            let ways = memory::WAYS.into_iter();
            ways.flat_map(|way| [End::Client, End::Server].map(|end| (way, end)))
        };
        for certificates in self.options.certificates.iter().copied() {
            let mut parties = None;
            for (way, end) in ends() {
                let is_it =
                    |it: &Memory| (it.way, it.certificates, it.end) == (way, certificates, end);
                self.result(is_it, |_| {
                    let words = |error| failed(format!("memory with {certificates}"), error);
                    let (parties, peers) = match &mut parties {
                        Some(parties) => parties,
                        none => none.insert(memory::parties(certificates).map_err(words)?),
                    };
                    Ok(vec![memory::measure(way, parties, peers, end).map_err(words)?])
                })?;
            }
        }
        self.begin::<Peak>(Part::Memory)?;
        for certificates in self.options.certificates.iter().copied() {
            let is_it = |it: &Peak| it.certificates == certificates;
            self.result(is_it, |_| memory::peaks(certificates))?;
        }
        self.begin::<LargeCache>(Part::Memory)?;
        let clients = self.options.clients;
        for certificates in memory::of_many(&self.options.certificates) {
            for kept in [EntryContent::Certificates, EntryContent::Hashes] {
                let is_it = |it: &LargeCache| {
                    (it.kept, it.certificates, it.clients) == (kept, certificates, clients)
                };
                self.result(is_it, |_| Ok(vec![memory::many(certificates, kept, clients)?]))?;
            }
        }
        Ok(())
    }
}
