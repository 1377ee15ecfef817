//! A run's share of a grid, for several runs.

use std::fmt;
use std::str::FromStr;

use crate::error::LabError;

/// Every n-th cell, starting from one of the first n: together, the n runs measure everything.
///
/// ```
/// # use tessera_lab::Share;
/// let share: Share = "2/3".parse()?;
/// assert_eq!(share.of(vec!['a', 'b', 'c', 'd', 'e']), ['b', 'e']);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// From 1 on.
    number: usize,
    of: usize,
}

impl Share {
    /// Returns the cells of the share.
    pub fn of<C>(self, cells: Vec<C>) -> Vec<C> {
        cells.into_iter().skip(self.number - 1).step_by(self.of).collect()
    }

    /// Returns how many other runs there are.
    pub fn others(self) -> usize {
        self.of - 1
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once('/').and_then(|(number, of)| {
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            (1..=of).contains(&number).then_some(Self { number, of })
        });
        numbers.ok_or_else(|| {
            format!(
                "`{text}` is not a share; write which, and of how many: `1/4`, `2/4`, up to `4/4`"
            )
        })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Returns the cells that a run measures of some.
///
/// # Errors
/// [`LabError::Options`] if there are none.
pub(crate) fn share<C>(share: Option<Share>, cells: Vec<C>) -> Result<Vec<C>, LabError> {
    let Some(share) = share else { return Ok(cells) };
    let count = cells.len();
    let cells = share.of(cells);
    if cells.is_empty() {
        return Err(LabError::Options(format!(
            "--share {share}: none of {count} cells is left; divide them into fewer parts"
        )));
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_in_one_share() {
        for of in 1..=5 {
            let shares = (1..=of).map(|number| format!("{number}/{of}").parse::<Share>().unwrap());
            let mut cells: Vec<_> = shares.flat_map(|share| share.of((0..7).collect())).collect();
            cells.sort_unstable();
            assert_eq!(cells, (0..7).collect::<Vec<_>>(), "{of}");
        }
        assert!("3/5".parse::<Share>().unwrap().of(vec![1, 2]).is_empty());
    }

    #[test]
    fn a_malformed_share_is_refused_with_an_example() {
        for text in ["", "1", "0/4", "5/4", "1/0", "/", "a/b", "1/2/3", "-1/4"] {
            let refusal = text.parse::<Share>().unwrap_err();
            assert!(refusal.contains("`1/4`"), "{text}: {refusal}");
        }
    }
}
