//! The clients of an HTTP server, well-behaved and hostile. Streams are in memory and time is paused: every limit is
//! reached exactly.

mod drain;
mod early;
mod hostile;
mod http1;
mod raw;
mod served;
mod slow;
mod well_formed;
