//! The clients of an HTTP server, well-behaved and hostile. Streams are in memory and time is paused: every limit is
//! reached exactly.

mod drain;
pub mod early;
mod hostile;
mod http1;
mod idle;
pub mod raw;
pub mod served;
mod slow;
mod well_formed;
