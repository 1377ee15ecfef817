//! A pool of HTTP connections: what becomes of calls whose servers refuse, reset, hang or die, and what travels early.

mod addresses;
mod bounds;
mod dns;
mod early;
mod http1;
mod raw;
mod retries;
mod site;
mod streams;
