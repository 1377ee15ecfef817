//! Which way of reconnecting fits a deployment, and why.
//!
//! [`facts`] are a deployment's, [`evidence`] is what was measured, and [`advise`] makes advice of both.
//! [`table_6`] is the paper's table of decisions, [`break_even`] has from where on an option pays.
#![forbid(unsafe_code)]

mod advice;
pub mod break_even;
pub mod evidence;
pub mod facts;
pub mod table_6;

pub use advice::{Advice, Line, Measurement, NoAdvice, Number, Other, Outside, Unit, advise};
