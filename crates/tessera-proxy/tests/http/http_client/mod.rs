//! A pool of HTTP connections: the fate of calls whose servers refuse, reset, hang or die, and early data.

mod addresses;
mod bounds;
mod dns;
mod early;
mod http1;
pub mod raw;
mod retries;
pub mod site;
mod streams;
