//! The results of a run: those that its journal has of an earlier one, and those that are measured.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::interruption::tell_how_to_go_on;
use super::journal::{Journal, Run};
use crate::error::LabError;

/// A grid of results, and the journal that keeps them.
pub(crate) struct Grid<C> {
    journal: Journal<C>,
    finished: Vec<C>,
}

impl<C: Serialize + DeserializeOwned> Grid<C> {
    /// Opens the journal: see [`Journal::open`]. From now on an interruption is answered with how the run goes on.
    ///
    /// # Errors
    /// [`LabError`].
    pub(crate) fn open(
        path: Option<&Path>,
        run: &Run,
        name: impl Fn(&C) -> Result<String, String>,
    ) -> Result<Self, LabError> {
        let (journal, finished) = Journal::open(path, run, name)?;
        tell_how_to_go_on(path)?;
        Ok(Self { journal, finished })
    }

    /// Returns what an earlier run had finished.
    pub(crate) fn finished(&self) -> impl Iterator<Item = &C> {
        self.finished.iter()
    }

    /// Keeps a result; it is on the disk when this returns.
    ///
    /// # Errors
    /// [`LabError::System`].
    pub(crate) fn add(&mut self, result: &C) -> Result<(), LabError> {
        self.journal.add(result)
    }
}
