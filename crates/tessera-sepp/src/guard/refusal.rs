//! The results of judging.

use std::fmt;
use std::time::Duration;

use http::StatusCode;

use super::Rule;
use super::identity::Identity;
use crate::names::PlmnSet;

/// A message that may be forwarded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
pub struct Passage {
    /// What log-only rules would have refused, 16 at most; usually empty.
    pub logged: Vec<Refusal>,
}

/// A message that must not be forwarded. It has everything that a security event reports; the other end only sees
/// [`status`](Self::status), [`cause`](Self::cause) and [`Rule::detail`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The rule that was broken.
    pub rule: Rule,
    /// The status of the answer.
    pub status: StatusCode,
    /// The `cause` of the answer's ProblemDetails.
    pub cause: &'static str,
    /// Where it was found: the name of a header, parameter or member.
    pub field: &'static str,
    /// The value found there, at most 120 characters; of a subscriber only the network.
    pub claimed: Box<str>,
    /// The networks that may be named there; empty if the rule isn't about networks.
    pub allowed: PlmnSet,
    /// When to retry, for the header `retry-after`.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// Refuses the value of this field. Invisible characters, and those that change the direction of a log line, are
    /// removed.
    pub(super) fn new(rule: Rule, field: &'static str, claimed: &str) -> Self {
        let shown: String = claimed.chars().filter(|c| is_shown(*c)).take(2 * LONGEST).collect();
        let shown: String = masked(&shown).chars().take(LONGEST).collect();
        Self {
            rule,
            status: rule.status(),
            cause: rule.cause(),
            field,
            claimed: shown.into(),
            allowed: PlmnSet::default(),
            retry_after: None,
        }
    }

    /// Returns `retry-after` in whole seconds, at least one (RFC 9110 §10.2.3).
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after
            .map(|time| time.as_secs() + u64::from(time.subsec_nanos() > 0))
            .map(|s| s.max(1))
    }
}

/// The number of characters of a claim that are kept.
const LONGEST: usize = 120;

/// Returns the text without what distinguishes one subscriber from another.
fn masked(text: &str) -> String {
    const BETWEEN: [char; 9] = ['/', '?', '&', '=', ',', ';', '"', ' ', '#'];
    let mask = |part: &str| {
        let piece = part.trim_end_matches(BETWEEN);
        // A text with this ending is masked already.
        let is_one = Identity::of(piece).is_some() && !piece.ends_with("..");
        let shown = if is_one { Identity::masked(piece) } else { piece.to_owned() };
        shown + &part[piece.len()..]
    };
    text.split_inclusive(BETWEEN).map(mask).collect()
}

/// Returns whether a character is visible: no control or format character, no line separator.
pub(crate) fn is_shown(letter: char) -> bool {
    let is_unseen = matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !letter.is_control() && !is_unseen
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} in {}", self.rule, self.claimed, self.field)?;
        if !self.allowed.is_empty() {
            write!(f, ", where only {} is allowed", self.allowed)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_shows_no_subscriber_and_no_unseen_letter() {
        for (claimed, shown) in [
            ("http://a/imsi-208930000000001/x", "http://a/imsi-208930../x"),
            ("x=imsi-208930000000001&y=1", "x=imsi-208930..&y=1"),
            ("imsi-208930..", "imsi-208930.."),
            ("a\u{202e}b\u{2028}c\nd", "abcd"),
        ] {
            assert_eq!(&*Refusal::new(Rule::Malformed, "x", claimed).claimed, shown);
        }
        assert_eq!(
            Refusal::new(Rule::Malformed, "x", &"ä".repeat(300)).claimed.chars().count(),
            120
        );
    }

    #[test]
    fn the_time_to_wait_is_in_whole_seconds_and_at_least_one() {
        let seconds = |millis| {
            let refusal = Refusal::share(Duration::from_millis(millis));
            refusal.retry_after_seconds()
        };
        assert_eq!([0, 1, 1000, 1001, 2500].map(seconds), [1, 1, 1, 2, 3].map(Some));
        assert_eq!(Refusal::new(Rule::Malformed, "x", "y").retry_after_seconds(), None);
    }
}
