//! Messages, extensions and records: read and write, nothing else.

mod code_points;

pub use code_points::*;
