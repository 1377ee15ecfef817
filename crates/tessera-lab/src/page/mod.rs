//! The report of an experiment as one page for people: a view of what the JSON report holds, and the
//! JSON itself.
//!
//! A page stands alone. It loads nothing, and everything on it is there without its script, which
//! only hands out the samples. Figures are HTML with small SVG drawings, so that text stays as large
//! on a phone as on a desk; next to each figure is a table with its numbers.
//!
//! [`document`] is what all pages are; [`reconnect`] and [`sites`] say what is on theirs.

mod axis;
mod chart;
mod document;
mod figure;
pub(crate) mod reconnect;
pub(crate) mod sites;
mod strip;
mod tables;
mod words;
