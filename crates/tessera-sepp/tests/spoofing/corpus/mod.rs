//! The table. The local network is 999-70, the peer 001-01; a lie names anything else, or the third network 208-93.

mod answers;
mod heads;
mod honest;
mod json;
mod others;

use tessera_sepp::guard::Rule;

pub use self::answers::ANSWERS;
pub use self::honest::HONEST;

pub struct Case {
    pub what: &'static str,
    pub rule: Rule,
    pub request: &'static str,
}

pub const fn case(what: &'static str, rule: Rule, request: &'static str) -> Case {
    Case { what, rule, request }
}

/// Returns the messages that must be refused.
pub fn spoofed() -> impl Iterator<Item = &'static Case> {
    [heads::CASES, json::CASES, others::CASES].into_iter().flatten()
}
