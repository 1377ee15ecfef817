//! The JSON reports of `tessera lab`, as types: what more than one crate writes or reads.
//!
//! The lab writes them, and reads them to render results; `tessera advise` reads them as evidence. The root has what
//! several reports have, [`reconnect`], [`roaming`] and [`load`] the rows and cells of these experiments. Parts that
//! only the lab reads are in the lab. A form that changes here changes the committed reports in `docs/results`.
#![forbid(unsafe_code)]

mod columns;
mod keys;
mod letter;
mod link;
pub mod load;
mod machine;
mod mode;
mod named;
pub mod reconnect;
pub mod roaming;
mod sample;
mod sides;
mod summary;
mod variant;
mod verdicts;

pub use keys::{Continuation, KeyExchange, OneTimeKey};
pub use letter::Letter;
pub use link::LinkReport;
pub use machine::Machine;
pub use mode::Mode;
pub use sample::Sample;
pub use sides::Sides;
pub use summary::{Summary, median_rank};
pub use variant::{Store, Suite, Variant};
pub use verdicts::{ForwardSecrecy, Verdicts};
