//! Two SEPPs and network functions in one process, over real TLS: what crosses N32-f, and what doesn't.

mod bodies;
mod early;
mod failures;
mod pki;
mod refused;
mod telescopic;
mod whole;
mod world;
