//! The command lines of `serve` and `connect`.

mod common;
mod connect;
mod serve;

pub(crate) use common::CommonArguments;
pub(crate) use connect::{ConnectArguments, EXAMPLES as CONNECT_EXAMPLES};
pub(crate) use serve::{EXAMPLES as SERVE_EXAMPLES, ServeArguments};
