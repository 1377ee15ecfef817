//! The command lines of `serve` and `connect`.

mod common;
mod serve;

pub(crate) use common::CommonArguments;
pub(crate) use serve::{EXAMPLES as SERVE_EXAMPLES, ServeArguments};
