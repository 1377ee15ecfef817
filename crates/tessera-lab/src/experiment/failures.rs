//! Reconnections that failed: counted, and never filled in.

use std::collections::BTreeMap;

use crate::error::LabError;

/// The failures of one cell.
pub(crate) struct Failures {
    /// With more than this many the cell has no numbers.
    most: usize,
    count: u32,
    reasons: BTreeMap<String, u32>,
}

impl Failures {
    /// Returns how many may fail for this many samples.
    pub(crate) fn most(samples: usize) -> usize {
        samples.div_ceil(2).max(3)
    }

    /// Creates it for a cell of this many samples.
    pub(crate) fn new(samples: usize) -> Self {
        Self { most: Self::most(samples), count: 0, reasons: BTreeMap::new() }
    }

    /// Counts one.
    ///
    /// # Errors
    /// If it is one too many: the remaining samples would not represent the variant.
    pub(crate) fn add(&mut self, reason: String) -> Result<(), LabError> {
        self.count += 1;
        let of_this = self.reasons.entry(reason.clone()).or_default();
        *of_this += 1;
        if self.count as usize > self.most {
            let count = self.count;
            let text = format!("{count} reconnections failed, the last because: {reason}");
            return Err(LabError::Connection(text));
        }
        Ok(())
    }

    /// Returns how many failed, and how many for which reason.
    pub(crate) fn into_counts(self) -> (u32, BTreeMap<String, u32>) {
        (self.count, self.reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_reason_up_to_half_of_the_samples() {
        let mut failures = Failures::new(20);
        for _ in 0..9 {
            failures.add("silence".to_owned()).unwrap();
        }
        failures.add("noise".to_owned()).unwrap();
        let error = failures.add("noise".to_owned()).unwrap_err();
        assert_eq!(error.to_string(), "11 reconnections failed, the last because: noise");
        let (count, reasons) = failures.into_counts();
        assert_eq!(count, 11);
        assert_eq!(reasons, [("noise".to_owned(), 2), ("silence".to_owned(), 9)].into());
    }
}
