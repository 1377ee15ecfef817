//! Recommends a way of reconnecting for a deployment, with reasons.
//!
//! [`facts`] describe a deployment, [`evidence`] holds measurements, and [`advise`] combines both. [`table_6`] is the
//! paper's table of decisions, and [`break_even`] computes where an option begins to pay off.
#![forbid(unsafe_code)]

mod advice;
pub mod break_even;
pub mod evidence;
pub mod facts;
pub mod table_6;

pub use advice::{
    Advice, Alternative, Extrapolation, Line, Measurement, NoAdvice, Number, Unit, advise,
};
