//! The experiment `traffic`: what sizes and times of the records tell an observer on the path, who has no
//! keys, about the way in which a connection was made; with and without padding.

mod evaluate;
mod features;
mod random;
mod registration;
mod report;
#[cfg(test)]
mod samples;
mod tree;
