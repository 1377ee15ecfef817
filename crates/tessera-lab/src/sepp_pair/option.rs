//! The ways of reconnecting that a SEPP supports.

use std::net::SocketAddr;

use tessera_reports::{Continuation, KeyExchange, Mode, OneTimeKey, Store, Suite, Variant};

use crate::error::LabError;

/// How two SEPPs reconnect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeppOption {
    mode: Mode,
    /// The etcd, reachable from the server's end, that has one-time keys and ticket keys. `None`: memory.
    pub(super) etcd: Option<SocketAddr>,
}

impl SeppOption {
    /// Returns the option of a SEPP that is this variant. Modes and stores are a SEPP's settings; groups and suite are
    /// not: two of them agree on the first that both have.
    ///
    /// # Errors
    /// [`LabError::Options`] if no SEPP connects like this, with the reason.
    pub(crate) fn of(variant: Variant, etcd: Option<SocketAddr>) -> Result<Self, LabError> {
        match contradiction(variant, etcd.is_some()) {
            Some(why) => Err(LabError::Options(why.to_owned())),
            None => Ok(Self { mode: variant.mode, etcd }),
        }
    }

    /// Whether it is the variant, among those of its option and store, that two SEPPs use, or would use if they had the
    /// option.
    pub(crate) fn is_nearest(variant: &Variant) -> bool {
        let Variant { mode, kx, suite, .. } = *variant;
        let agreed = if mode == Mode::PskOnly { None } else { Some(HYBRID) };
        kx == agreed && suite == SUITE && mode != Mode::ZeroRttFsPsk
    }

    /// Returns the letter by which a SEPP counts connections like this.
    pub(super) fn letter(&self) -> &'static str {
        match self.mode {
            Mode::Full => "a",
            Mode::PskOnly => "b",
            Mode::PskDhe => "c",
            _ => "e",
        }
    }

    /// Whether the first request is in the first flight.
    pub(super) fn is_early(&self) -> bool {
        self.mode.has_early_data()
    }

    /// `[peer.NAME.reconnection]` at both ends.
    pub(super) fn reconnection(&self) -> &'static str {
        match self.mode {
            Mode::Full => "resume = false",
            Mode::PskOnly => "risky-psk-ke = true",
            Mode::PskDhe => "resume = true",
            _ => "early-data = \"fs\"",
        }
    }
}

/// How two SEPPs agree on keys, and their suite: the first that the provider has.
const HYBRID: KeyExchange = KeyExchange::X25519MlKem768;
const SUITE: Suite = Suite::Aes128GcmSha256;

/// Returns why no SEPP connects like this.
fn contradiction(variant: Variant, has_etcd: bool) -> Option<&'static str> {
    let Variant { mode, kx, ticket_key, continuation, store, suite, .. } = variant;
    let of_mode = match mode {
        // It accepts such data, but what it sends early can't be replayed.
        Mode::ZeroRtt | Mode::ZeroRttUnguarded => Some("a SEPP sends no replayable early data"),
        Mode::ZeroRttFsPsk => Some("a SEPP issues key pairs, not one-time PSKs"),
        Mode::ZeroRttFs if continuation != Some(Continuation::PskDheKe) => {
            Some("a SEPP goes on with psk_dhe_ke after early data")
        }
        Mode::ZeroRttFs if ticket_key != Some(OneTimeKey::from(HYBRID)) => {
            Some("two SEPPs have one-time keys of X25519MLKEM768")
        }
        Mode::PskOnly => None,
        _ if kx != Some(HYBRID) => Some("two SEPPs agree on X25519MLKEM768"),
        _ => None,
    };
    let of_suite = (suite != SUITE).then_some("two SEPPs choose TLS_AES_128_GCM_SHA256 (0x1301)");
    let of_store = match (store, has_etcd) {
        (Store::Etcd, false) => Some("there is no etcd at the server's end"),
        _ => None,
    };
    of_mode.or(of_suite).or(of_store)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variants;

    #[test]
    fn a_sepp_has_one_way_of_each_letter_but_d() {
        let etcd = SocketAddr::from(([127, 0, 0, 1], 2379));
        let of = |variant: Variant| {
            let option = SeppOption::of(variant, (variant.store == Store::Etcd).then_some(etcd));
            Some((option.ok()?.letter(), variant.store))
        };
        let found: Vec<_> = variants::all().into_iter().filter_map(of).collect();
        let expected = [
            ("a", Store::Memory),
            ("b", Store::Memory),
            ("c", Store::Memory),
            ("e", Store::Memory),
            ("e", Store::Etcd),
        ];
        assert_eq!(found, expected);
        let nearest = variants::all().into_iter().filter(SeppOption::is_nearest);
        let letters: Vec<_> = nearest.map(|variant| variant.option.letter()).collect();
        assert_eq!(letters, ["a", "b", "c", "d", "d'", "e", "e"]);
    }

    #[test]
    fn an_option_that_no_sepp_has_is_reported() {
        let why = |mode| {
            let variants = variants::all().into_iter().filter(|variant| variant.mode == mode);
            let reasons = variants.filter_map(|variant| SeppOption::of(variant, None).err());
            let mut reasons: Vec<_> = reasons.map(|error| error.to_string()).collect();
            reasons.sort();
            reasons.dedup();
            reasons
        };
        assert_eq!(why(Mode::PskOnly), ["two SEPPs choose TLS_AES_128_GCM_SHA256 (0x1301)"]);
        assert_eq!(why(Mode::ZeroRtt), ["a SEPP sends no replayable early data"]);
        assert!(why(Mode::ZeroRttFs).contains(&"there is no etcd at the server's end".to_owned()));
    }
}
