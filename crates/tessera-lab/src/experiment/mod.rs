//! What experiments have in common: their options, the screen, where reports go.

mod etcd;
mod journal;
mod json;
mod numbers;
mod options;
mod output;
mod report;
mod screen;
mod share;

pub(crate) use etcd::Etcd;
pub(crate) use journal::{Journal, Run};
pub(crate) use numbers::{number, spread};
pub use options::Options;
pub(crate) use options::{check, nothing_possible, open_link, open_network, rtts};
pub(crate) use output::{write, write_json, write_rows};
pub use report::Destination;
pub(crate) use report::LinkReport;
pub(crate) use screen::Screen;
pub use share::Share;
pub(crate) use share::share;
