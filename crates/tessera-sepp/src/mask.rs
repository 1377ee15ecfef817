//! Subscribers in logs.

use std::fmt;

use crate::guard::is_shown;

/// Text with masked subscriber numbers: of a run of digits as long as an IMSI, an IMEI or a phone number, only the
/// first five remain, which identify the network. Invisible characters are removed.
#[derive(Debug, Clone, Copy)]
pub struct MaskedText<'t>(pub &'t str);

/// Shorter runs are ports, codes and times.
const SHORTEST: usize = 9;

/// MCC and MNC.
const SHOWN: usize = 5;

impl fmt::Display for MaskedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let (before, digits) = rest.split_at(start);
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let (digits, after) = digits.split_at(end);
            plain(f, before)?;
            if digits.len() < SHORTEST {
                f.write_str(digits)?;
            } else {
                f.write_str(&digits[..SHOWN])?;
                (SHOWN..digits.len()).try_for_each(|_| f.write_str("*"))?;
            }
            rest = after;
        }
        plain(f, rest)
    }
}

fn plain(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    use std::fmt::Write as _;
    text.chars().filter(|c| is_shown(*c)).try_for_each(|c| f.write_char(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_subscriber_the_network_is_left() {
        for (text, masked) in [
            ("imsi-999700000000001", "imsi-99970**********"),
            (
                "/nudm-sdm/v2/imsi-001010000000001/am-data",
                "/nudm-sdm/v2/imsi-00101**********/am-data",
            ),
            ("suci-0-999-70-0000-0-0-0000000001", "suci-0-999-70-0000-0-0-00000*****"),
            ("msisdn-491701234567 x", "msisdn-49170******* x"),
            (
                "sepp1.5gc.mnc070.mcc999.3gppnetwork.org:7443",
                "sepp1.5gc.mnc070.mcc999.3gppnetwork.org:7443",
            ),
            ("a\nb\u{1b}[0m\u{202e}c", "ab[0mc"),
            ("", ""),
        ] {
            assert_eq!(MaskedText(text).to_string(), masked);
        }
    }
}
