//! The report of an experiment as one page for people: a view of what the JSON report holds, and the
//! JSON itself.
//!
//! A page stands alone. It loads nothing, and everything on it is there without its script, which
//! only hands out the samples. Figures are HTML with small SVG drawings, so that text stays as large
//! on a phone as on a desk; next to each figure is a table with its numbers.
//!
//! [`document`] is what all pages are; each experiment's own `page` says what is on it.

mod axis;
pub(crate) mod chart;
pub(crate) mod document;
pub(crate) mod figure;
pub(crate) mod strip;
pub(crate) mod tables;
pub(crate) mod words;
