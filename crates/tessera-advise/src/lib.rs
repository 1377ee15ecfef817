//! Which way of reconnecting fits a deployment, and why.
//!
//! [`evidence`] is what was measured, [`break_even`] from where on an option pays.
#![forbid(unsafe_code)]

pub mod break_even;
pub mod evidence;
pub mod facts;
