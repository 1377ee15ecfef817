//! `tessera sepp`: a Security Edge Protection Proxy, the border of a 5G core network towards its roaming partners
//! (3GPP TS 29.573, TS 33.501).
//!
//! From top to bottom; a module imports only from its own row and those below it:
//!
//! | modules | what happens there |
//! |---|---|
//! | `demo` | a demonstration, with the attacks that it survives |
//! | [`run()`], [`check()`] | the commands: the whole process, and the same errors without listening |
//! | `running`, `changes`, `confinement` | a live SEPP: listeners, certificates' ages, `/peers`, reloads and shutdown; what needs a restart, and what the process may use |
//! | [`events`], `nrf` | what happens, counted and logged; the registration at the NRF |
//! | [`sepp`] | combines what is below: outgoing, incoming, a pool per peer |
//! | [`n32c`], [`n32f`] | agrees with peers; decides which requests may be early and which targets may be reached |
//! | [`tls`], [`metrics`] | builds TLS configurations from files; series for Prometheus |
//! | [`sbi`], `mask` | headers, targets, telescopic names and errors of local network functions; subscribers in logs |
//! | [`guard`] | the rules, pure functions of a message |
//! | [`reconnection`] | decides which earlier authentication is still valid, at both ends |
//! | [`identity`] | decides whom a certificate stands for, and what a ticket keeps of it |
//! | [`config`], `load`, `multipart` | the schema and its checks; reads a file; `multipart/related` |
//! | [`names`] | networks and FQDNs |
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
