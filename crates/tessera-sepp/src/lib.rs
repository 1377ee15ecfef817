//! `tessera sepp`: a Security Edge Protection Proxy, the border of a 5G core network towards its roaming partners
//! (3GPP TS 29.573, TS 33.501).
#![forbid(unsafe_code)]

pub mod config;
pub mod guard;
pub mod identity;
pub mod metrics;
pub mod n32c;
pub mod n32f;
pub mod names;
pub mod reconnection;
pub mod sbi;
pub mod sepp;
pub mod tls;
