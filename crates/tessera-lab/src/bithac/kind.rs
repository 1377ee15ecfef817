//! The kinds of results: how each is kept, and shown.

use super::finished::Finished;
use super::report::{Cell, DatagramCell, Hits, LargeCache, Memory, Peak, Report, Work};
use super::table;
use crate::table::{Row, Table};

/// A kind of results.
pub(crate) trait Kind: Clone {
    /// Returns it, if a finished result is of this kind.
    fn of(finished: &Finished) -> Option<&Self>;

    fn finished(&self) -> Finished;

    /// Returns its list in a report.
    fn list(report: &mut Report) -> &mut Vec<Self>;

    /// Returns the table of the kind, without rows.
    fn table() -> Table;

    /// Returns its row; the report has what it is compared with.
    fn row(&self, report: &Report) -> Row;
}

/// Returns the table of some results of a report.
pub(crate) fn table_of<T: Kind>(results: &[T], report: &Report) -> Table {
    T::table().rows(results.iter().map(|it| it.row(report)))
}

macro_rules! kinds {
    ($($kind:ident $variant:ident $list:ident $table:ident $row:expr;)*) => {
        $(impl Kind for $kind {
            fn of(finished: &Finished) -> Option<&Self> {
                match finished {
                    Finished::$variant(it) => Some(it),
                    _ => None,
                }
            }

            fn finished(&self) -> Finished {
                Finished::$variant(self.clone())
            }

            fn list(report: &mut Report) -> &mut Vec<Self> {
                &mut report.$list
            }

            fn table() -> Table {
                table::$table()
            }

            fn row(&self, report: &Report) -> Row {
                $row(self, report)
            }
        })*
    };
}

kinds! {
    Cell Cell cells over_links |it, report: &Report| table::cell(it, &report.cells);
    Work Work work works table::work;
    Hits Hits hits all_hits |it, _| table::hits(it);
    Memory Memory memory memories |it, _| table::memory(it);
    Peak Peak peaks peaks table::peak;
    LargeCache Many many large_caches |it, _| table::large_cache(it);
    DatagramCell Datagrams datagrams over_datagrams |it, report: &Report| table::datagrams(it, &report.datagrams);
}
