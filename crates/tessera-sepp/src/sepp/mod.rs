//! The composition: what the listeners of a SEPP answer.

pub mod observer;
pub mod policy;
