//! Telescopic names: network functions that know nothing of a SEPP reach foreign ones through it.

pub mod api;
mod json;
mod label;
mod long;
mod rewrite;

pub use self::json::exchange_strings;
pub use self::label::{Foreign, TelescopicDomain};
pub use self::rewrite::{Rewriting, is_json, rewrite};
