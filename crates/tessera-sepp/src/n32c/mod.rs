//! N32-c: two SEPPs agree on how their networks talk (3GPP TS 29.573 §5.2, §6.1).

pub mod messages;
