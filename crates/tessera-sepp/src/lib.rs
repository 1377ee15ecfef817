//! `tessera sepp`: a Security Edge Protection Proxy, the border of a 5G core network towards its roaming partners
//! (3GPP TS 29.573, TS 33.501).
#![forbid(unsafe_code)]

mod changes;
mod check;
pub mod config;
mod confinement;
#[cfg(feature = "demo")]
mod demo;
pub mod events;
pub mod guard;
pub mod identity;
mod load;
mod mask;
pub mod metrics;
mod multipart;
pub mod n32c;
pub mod n32f;
pub mod names;
mod nrf;
pub mod reconnection;
mod run;
mod running;
pub mod sbi;
pub mod sepp;
pub mod tls;

pub use self::check::check;
#[cfg(feature = "demo")]
pub use self::demo::{DemoOptions, demo};
pub use self::run::run;
