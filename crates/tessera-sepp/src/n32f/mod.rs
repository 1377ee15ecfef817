//! The side of the peers: which requests cross N32-f, to whom, and when (TS 29.573 §5.3, TS 33.501 §13).

pub mod early;
pub mod reach;
pub mod routes;
pub mod targets;
