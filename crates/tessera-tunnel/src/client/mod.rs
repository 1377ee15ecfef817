//! The client end of a tunnel.

pub mod spare;
pub mod verdict;
