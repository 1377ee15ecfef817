//! The report of an experiment as one page for people: a view of the JSON report, and the JSON itself.
//!
//! A page is self-contained. It loads nothing, and shows everything without its script, which only exports the samples.
//! Figures are HTML with small SVG drawings, so that text has the same size on a phone as on a desk; next to each
//! figure is a table with its numbers.
//!
//! [`document`] is common to all pages; each experiment's own `page` fills it. Its answer is a bold sentence at the top.

mod axis;
pub(crate) mod chart;
pub(crate) mod document;
pub(crate) mod figure;
pub(crate) mod stacked;
pub(crate) mod strip;
