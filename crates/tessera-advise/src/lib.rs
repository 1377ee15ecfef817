//! Which way of reconnecting fits a deployment, and why.
#![forbid(unsafe_code)]
