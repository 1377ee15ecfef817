//! Envoy's secret discovery service: with a client that behaves as Envoy does, and with Envoy.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail their test")]

mod client;
mod program;
mod protocol;
