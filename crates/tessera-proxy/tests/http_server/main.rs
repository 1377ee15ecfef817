//! What becomes of the clients of an HTTP server, well-behaved and hostile. Streams are in memory and time is paused:
//! every limit is reached exactly.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod drain;
mod early;
mod hostile;
mod http1;
mod raw;
mod served;
mod slow;
mod well_formed;
