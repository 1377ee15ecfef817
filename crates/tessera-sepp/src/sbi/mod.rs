//! Local network functions: what a SEPP reads in their requests, and what it answers (TS 29.500).

pub mod api_root;
pub mod errors;
pub mod headers;
pub mod hops;
pub mod origin;
pub mod request;
pub mod telescopic;
pub mod time;
pub mod tls;
