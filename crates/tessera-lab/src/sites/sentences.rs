//! Explains a path, and its client's verdict, in words.

use crate::control::EarlyDataOutcome;
use crate::sites::path::Path;

/// Describes a path.
pub(super) fn path(path: Path) -> &'static str {
    match path {
        Path::Home => "early data, at the site that issued the ticket",
        Path::Away => "early data, at the other site, which has the key burned at home",
        Path::AwayHomeSilent => "early data, at the other site, and home's process is stopped",
        Path::AwayPskDhe => "no early data, at the other site",
        Path::AwayGuess => "early data, at a site that reports burned without asking: wrong",
    }
}

/// Explains a client's verdict, given this many executions by the adversary.
pub(super) fn of(told: Option<EarlyDataOutcome>, executions: u32) -> String {
    let told = match told {
        None => {
            "There was no early data: the request went out when the handshake was complete, and \
             cannot be replayed."
        }
        Some(EarlyDataOutcome::Accepted) => {
            "The site took the one-time key and accepted the early data; nothing is sent twice."
        }
        Some(EarlyDataOutcome::Burned) => {
            "The client learned that no server can accept its early data any more, and sent the request again in the \
             same connection."
        }
        Some(EarlyDataOutcome::Used) => {
            "The client learned that its early data was accepted before, and must never send it again."
        }
        Some(EarlyDataOutcome::Unknown) => {
            "The client could not learn whether its early data is still accepted somewhere. It did not send again; \
             only its application knows whether that would be safe."
        }
    };
    let executed = match executions {
        0 => "Under replay the request was not executed at all.".to_owned(),
        1 => "Under replay the request was executed once, as it should be.".to_owned(),
        more => {
            format!("Under replay the request was executed {more} times: the verdict was wrong.")
        }
    };
    format!("{told} {executed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentences_of_the_sites_page_match_the_counts() {
        let right = of(Some(EarlyDataOutcome::Burned), 1);
        assert!(right.contains("executed once") && right.contains("sent the request again"));
        let wrong = of(Some(EarlyDataOutcome::Burned), 2);
        assert!(wrong.ends_with("executed 2 times: the verdict was wrong."), "{wrong}");
        assert!(of(None, 0).ends_with("not executed at all."));
    }
}
