//! A process: its configuration, log, sockets, admin port, confinement and signals.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod child;
mod common;
mod open_metrics;

mod admin;
mod config;
mod confine;
mod inherited;
mod logging;
mod out_of_files;
mod reload;
mod service;
