//! Explains verdicts in words.

use tessera_reports::{ForwardSecrecy, Verdicts};

/// Explains the verdicts on a way.
pub(super) fn of(verdicts: &Verdicts) -> String {
    let Verdicts { first_byte_fs, session_fs, replay_executions, pq_confidentiality } = *verdicts;
    let secrecy = if first_byte_fs == session_fs {
        format!("Of a recording, {}.", secrecy("everything", first_byte_fs))
    } else {
        format!(
            "Of a recording, {}; {}.",
            secrecy("the early request", first_byte_fs),
            secrecy("the rest", session_fs)
        )
    };
    let executed = times(replay_executions);
    let quantum = if pq_confidentiality {
        "A later quantum computer alone does not open it."
    } else {
        "A later quantum computer opens it."
    };
    format!("{secrecy} Under replay the request was executed {executed}. {quantum}")
}

/// Formats how often something happened.
pub(super) fn times(count: u32) -> String {
    match count {
        0 => "not at all".to_owned(),
        1 => "once".to_owned(),
        more => format!("{more} times"),
    }
}

/// Formats from when on a recording of something stays closed.
pub(super) fn secrecy(what: &str, from: ForwardSecrecy) -> String {
    match from {
        ForwardSecrecy::Handshake => {
            format!("{what} stays closed to an attacker who steals keys after the handshake")
        }
        ForwardSecrecy::FromTakeOrExpiry => format!(
            "{what} stays closed from the moment that the server takes the one-time key, or the \
             key expires"
        ),
        ForwardSecrecy::FromEpochEnd => {
            format!("{what} stays closed from the end of the epoch that the one-time key is of")
        }
        ForwardSecrecy::FromDeletionByBoth => format!(
            "{what} stays closed only once both ends have deleted the one-time PSK: a copy of the \
             client's, from a backup or a flash cell, opens it"
        ),
        ForwardSecrecy::None => {
            format!("{what} is open to an attacker who learns the ticket's keys later")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentences_of_the_reconnect_page_match_the_verdicts() {
        let verdicts = Verdicts {
            first_byte_fs: ForwardSecrecy::None,
            session_fs: ForwardSecrecy::Handshake,
            replay_executions: 21,
            pq_confidentiality: false,
        };
        assert_eq!(
            of(&verdicts),
            "Of a recording, the early request is open to an attacker who learns the ticket's keys later; \
             the rest stays closed to an attacker who steals keys after the handshake. Under \
             replay the request was executed 21 times. A later quantum computer opens it."
        );
        let both = ForwardSecrecy::FromTakeOrExpiry;
        let verdicts = Verdicts {
            first_byte_fs: both,
            session_fs: both,
            replay_executions: 1,
            pq_confidentiality: true,
        };
        let sentence = of(&verdicts);
        assert!(sentence.starts_with("Of a recording, everything stays closed"), "{sentence}");
        assert!(sentence.contains("executed once"), "{sentence}");
        let first_byte_fs = ForwardSecrecy::FromDeletionByBoth;
        let sentence = of(&Verdicts { first_byte_fs, ..verdicts });
        assert!(sentence.contains("the early request stays closed only once both"), "{sentence}");
    }
}
