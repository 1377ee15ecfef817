//! The parts of the experiment that need no link: computation and memory.

use super::finished::Finished;
use super::report::{End, EntryContent, Hits, Part, Work};
use super::{Experiment, failed, hits, memory, table, work};
use crate::error::LabError;

impl Experiment<'_> {
    /// Measures the computation.
    pub(super) fn work(&mut self) -> Result<(), LabError> {
        let ways = work::ways(&self.options.ways);
        self.screen.now(Part::Work.name());
        self.screen.line(&table::work_head())?;
        for certificates in &self.options.certificates {
            for chain in work::CHAINS {
                let there = self.finished.iter().filter_map(|finished| match finished {
                    Finished::Work(work) => Some(work),
                    _ => None,
                });
                let of_this = |work: &&Work| {
                    (work.certificates, work.chain) == (*certificates, chain)
                        && ways.contains(&work.way)
                };
                let mut all: Vec<_> = there.filter(of_this).cloned().collect();
                let left: Vec<_> = ways
                    .iter()
                    .copied()
                    .filter(|way| all.iter().all(|it| it.way != *way))
                    .collect();
                for _ in 0..all.len() * self.computed() {
                    self.screen.advance();
                }
                let measured = work::measure(&left, *certificates, chain, self.computed(), || {
                    self.screen.advance();
                });
                for work in measured.map_err(|error| failed(format!("{certificates}"), error))? {
                    self.journal.add(&Finished::Work(work.clone()))?;
                    all.push(work);
                }
                all.sort_by_key(|work| ways.iter().position(|way| *way == work.way));
                for work in all {
                    self.screen.line(&table::work(&work))?;
                    self.report.work.push(work);
                }
            }
        }
        Ok(())
    }

    /// Measures caches that know only some of the peers.
    pub(super) fn hits(&mut self) -> Result<(), LabError> {
        self.screen.now(Part::Hits.name());
        self.screen.line(&table::hits_head())?;
        for certificates in &self.options.certificates {
            let there = self.finished.iter().filter_map(|finished| match finished {
                Finished::Hits(hits) if hits.certificates == *certificates => Some(hits.clone()),
                _ => None,
            });
            let mut all: Vec<Hits> = there.collect();
            if all.len() != 1 + hits::RATES.len() {
                let advance = || self.screen.advance();
                all = hits::measure(*certificates, self.computed(), advance)
                    .map_err(|error| failed(format!("hits with {certificates}"), error))?;
                for hits in &all {
                    self.journal.add(&Finished::Hits(hits.clone()))?;
                }
            }
            for hits in all {
                self.screen.line(&table::hits(&hits))?;
                self.report.hits.push(hits);
            }
        }
        Ok(())
    }

    /// Measures the memory of remembered peers.
    pub(super) fn memory(&mut self) -> Result<(), LabError> {
        self.screen.now(Part::Memory.name());
        self.screen.line(&table::memory_head())?;
        for certificates in &self.options.certificates {
            let mut parties = None;
            for (way, end) in memory::WAYS
                .into_iter()
                .flat_map(|way| [End::Client, End::Server].map(|end| (way, end)))
            {
                let of_this = |finished: &Finished| match finished {
                    Finished::Memory(it)
                        if (it.way, it.certificates, it.end) == (way, *certificates, end) =>
                    {
                        Some(it.clone())
                    }
                    _ => None,
                };
                let there = self.finished.iter().find_map(of_this);
                let memory = match there {
                    Some(memory) => memory,
                    None => {
                        let words = |error| failed(format!("memory with {certificates}"), error);
                        let (parties, peers) = match &mut parties {
                            Some(parties) => parties,
                            none => none.insert(memory::parties(*certificates).map_err(words)?),
                        };
                        let memory = memory::measure(way, parties, peers, end).map_err(words)?;
                        self.journal.add(&Finished::Memory(memory.clone()))?;
                        memory
                    }
                };
                self.screen.line(&table::memory(&memory))?;
                self.report.memory.push(memory);
            }
        }
        self.peaks()?;
        self.many()
    }

    /// Measures the memory of very many clients at a server.
    fn many(&mut self) -> Result<(), LabError> {
        let clients = self.options.clients;
        self.screen.line(&table::many_head())?;
        for certificates in memory::of_many(&self.options.certificates) {
            for kept in [EntryContent::Certificates, EntryContent::Hashes] {
                let there = self.finished.iter().find_map(|finished| match finished {
                    Finished::Many(it)
                        if (it.kept, it.certificates, it.clients)
                            == (kept, certificates, clients) =>
                    {
                        Some(it.clone())
                    }
                    _ => None,
                });
                let many = match there {
                    Some(many) => many,
                    None => {
                        let many = memory::many(certificates, kept, clients)?;
                        self.journal.add(&Finished::Many(many.clone()))?;
                        many
                    }
                };
                self.screen.line(&table::many(&many))?;
                self.report.many.push(many);
            }
        }
        Ok(())
    }

    /// Measures the peak memory of both ends.
    fn peaks(&mut self) -> Result<(), LabError> {
        self.screen.line(&table::peaks_head())?;
        for certificates in &self.options.certificates {
            let there = self.finished.iter().filter_map(|finished| match finished {
                Finished::Peak(peak) if peak.certificates == *certificates => Some(peak.clone()),
                _ => None,
            });
            let mut all: Vec<_> = there.collect();
            if all.is_empty() {
                all = memory::peaks(*certificates)?;
                for peak in &all {
                    self.journal.add(&Finished::Peak(peak.clone()))?;
                }
            }
            for peak in all {
                self.screen.line(&table::peak(&peak))?;
                self.report.peaks.push(peak);
            }
        }
        Ok(())
    }
}
