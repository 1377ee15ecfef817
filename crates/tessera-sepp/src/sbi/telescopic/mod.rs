//! Telescopic names: network functions that know nothing of a SEPP reach foreign ones through it.

pub mod api;
mod foreign;
mod json;
mod label;
mod long;
mod rewrite;

pub use self::foreign::ForeignFunction;
pub use self::json::exchange_strings;
pub use self::label::TelescopicDomain;
pub use self::rewrite::{Rewriter, is_json, rewrite};
