//! N32-f: which requests cross it, to whom, and when (TS 29.573 §5.3, TS 33.501 §13).

pub mod early;
pub mod reach;
pub mod routes;
pub mod targets;
