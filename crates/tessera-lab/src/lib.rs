//! The lab: runs the ways of reconnecting over an emulated link and measures what they cost.
#![forbid(unsafe_code)]

pub mod link;
