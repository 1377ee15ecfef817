//! Shared by experiments: options, the screen, output of reports.

mod etcd;
mod failures;
mod files;
mod grid;
mod interruption;
mod journal;
mod json;
pub(crate) mod limits;
mod options;
mod orphans;
mod output;
mod report;
mod screen;
mod seeds;
mod share;

pub(crate) use etcd::{Etcd, Place};
pub(crate) use failures::Failures;
pub(crate) use grid::Grid;
pub(crate) use journal::{Run, is_one_time};
pub use options::Options;
pub(crate) use options::{
    check, check_resumable, nothing_possible, open_link, open_network, refuse_twice, rtts,
};
pub(crate) use orphans::Orphans;
pub(crate) use output::{ROWS, SAMPLES, write};
pub use report::Destination;
pub(crate) use report::link_report;
pub(crate) use screen::Screen;
pub(crate) use seeds::seed_of;
pub use share::Share;
pub(crate) use share::share;
