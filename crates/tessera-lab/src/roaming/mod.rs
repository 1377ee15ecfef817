//! The experiment `roaming`: the evaluation of a paper on TLS 1.3 between mobile networks, on real code and
//! real links.

pub(crate) mod report;
