//! How long tickets should live.

use crate::facts::{Application, Facts};

/// Ticket lifetimes, in hours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lifetimes {
    /// A one-time key: docs/0rtt-fs.md, section 5.
    pub(super) one_time_key: f64,
    /// A sealed ticket.
    pub(super) ticket: f64,
}

/// After this many mean gaps between reconnections a ticket may expire: 5 of 100 reconnections come later (e⁻³ =
/// 0.0498).
const GAPS: f64 = 3.0;
/// docs/0rtt-fs.md, section 5: a one-time key SHOULD live an hour, and SHOULD NOT live for more than a day.
const ONE_TIME_KEY: [f64; 2] = [1.0, 24.0];
/// The default of `[tickets] lifetime` in docs/sepp.md, and TLS's limit (RFC 8446 §4.6.1).
const TICKET: [f64; 2] = [2.0, 7.0 * 24.0];

impl Lifetimes {
    /// As long as 95 of 100 reconnections need, in whole hours: forward secrecy of a lost flight begins when its key
    /// expires. At least the defaults, and at most what is allowed.
    pub(super) fn of(facts: &Facts) -> Self {
        let enough = (GAPS / facts.reconnections_per_hour).ceil();
        let within = |[default, most]: [f64; 2]| {
            // Without reconnections no lifetime is enough.
            let wanted = if enough.is_finite() { enough.clamp(default, most) } else { default };
            wanted.min(facts.longest_ticket_lifetime_hours)
        };
        let ticket = within(TICKET);
        let one_time_key = match facts.application {
            Application::Own => within(ONE_TIME_KEY),
            // Neither has a setting for it.
            Application::Sepp | Application::Tunnel => within([ONE_TIME_KEY[0]; 2]),
        };
        // "At most the sealed ticket's."
        Self { one_time_key: one_time_key.min(ticket), ticket }
    }

    /// Returns the shares of the reconnections that find a live one-time key, only a live sealed ticket, and neither.
    pub(super) fn shares(&self, reconnections_per_hour: f64) -> [f64; 3] {
        let late = |hours: f64| (-reconnections_per_hour * hours).exp();
        let (key, ticket) = (late(self.one_time_key), late(self.ticket));
        [1.0 - key, key - ticket, ticket]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::SourcedFacts;

    fn facts(per_hour: f64, longest: &str) -> Facts {
        let options = [
            ("round-trip", "1ms"),
            ("reconnections-per-hour", "1"),
            ("longest-ticket-lifetime", longest),
        ];
        let options = options.map(|(key, text)| (key, text.to_owned()));
        let facts = SourcedFacts::default().with_options(options).facts().unwrap();
        Facts { reconnections_per_hour: per_hour, ..facts }
    }

    fn lifetimes(per_hour: f64, longest: &str) -> Lifetimes {
        Lifetimes::of(&facts(per_hour, longest))
    }

    #[test]
    fn a_sepp_keeps_one_time_keys_for_an_hour() {
        for (longest, one_time_key) in [("7d", 1.0), ("30min", 0.5)] {
            let sepp = Facts { application: Application::Sepp, ..facts(0.05, longest) };
            assert_eq!(Lifetimes::of(&sepp).one_time_key, one_time_key);
            assert_eq!(Lifetimes::of(&sepp).ticket, lifetimes(0.05, longest).ticket);
        }
    }

    #[test]
    fn tickets_live_as_long_as_most_gaps_within_what_is_allowed() {
        let cases = [
            (60.0, "7d", 1.0, 2.0),
            (1.0, "7d", 3.0, 3.0),
            (0.25, "7d", 12.0, 12.0),
            (0.05, "7d", 24.0, 60.0),
            (0.001, "7d", 24.0, 168.0),
            (0.0, "7d", 1.0, 2.0),
            (0.25, "30min", 0.5, 0.5),
            (0.05, "36h", 24.0, 36.0),
        ];
        for (per_hour, longest, one_time_key, ticket) in cases {
            let expected = Lifetimes { one_time_key, ticket };
            assert_eq!(lifetimes(per_hour, longest), expected, "{per_hour} an hour, {longest}");
        }
    }

    #[test]
    fn shares_are_those_of_a_poisson_process() {
        let [first, sealed, none] = lifetimes(0.05, "7d").shares(0.05);
        assert!((first + sealed + none - 1.0).abs() < 1e-12);
        assert!((first - (1.0 - (-1.2_f64).exp())).abs() < 1e-12);
        assert!((none - (-3.0_f64).exp()).abs() < 1e-12);
    }
}
