//! PLMN IDs (TS 23.003 §2.2, §12.1).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A network: mobile country code and mobile network code. The latter has two or three digits, and `70` is another code
/// than `070`; in a domain name they are the same ([`NetworkDomain`](super::NetworkDomain)).
///
/// Its text is `999-70`. serde uses the JSON of TS 29.571 §5.4.4.3: `{"mcc":"999","mnc":"70"}`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Digits", into = "Digits")]
pub struct PlmnId {
    mcc: [u8; 3],
    mnc: [u8; 3],
    /// 2 or 3
    mnc_len: u8,
}

/// As in JSON.
#[derive(Serialize, Deserialize)]
struct Digits {
    mcc: String,
    mnc: String,
}

impl PlmnId {
    /// Creates it from the digits of both codes.
    ///
    /// # Errors
    /// Unless the country code has three digits, and the network code two or three.
    pub fn new(mcc: &str, mnc: &str) -> Result<Self, NotAPlmnId> {
        let are_digits = |code: &str| code.bytes().all(|byte| byte.is_ascii_digit());
        if mcc.len() != 3 || !matches!(mnc.len(), 2 | 3) || !are_digits(mcc) || !are_digits(mnc) {
            return Err(NotAPlmnId);
        }
        let mut id = Self { mcc: [b'0'; 3], mnc: [b'0'; 3], mnc_len: mnc.len() as u8 };
        id.mcc.copy_from_slice(mcc.as_bytes());
        id.mnc[..mnc.len()].copy_from_slice(mnc.as_bytes());
        Ok(id)
    }

    /// Returns the mobile country code: three digits.
    pub fn mcc(&self) -> &str {
        std::str::from_utf8(&self.mcc).unwrap_or_default()
    }

    /// Returns the mobile network code: two or three digits.
    pub fn mnc(&self) -> &str {
        std::str::from_utf8(&self.mnc[..usize::from(self.mnc_len)]).unwrap_or_default()
    }

    /// Returns the three octets of TS 24.008 §10.5.1.3, where a code of two digits is padded with 1111.
    pub fn to_octets(self) -> [u8; 3] {
        let digit = |byte: u8| byte - b'0';
        let third = if self.mnc_len == 2 { 0xf } else { digit(self.mnc[2]) };
        [
            digit(self.mcc[1]) << 4 | digit(self.mcc[0]),
            third << 4 | digit(self.mcc[2]),
            digit(self.mnc[1]) << 4 | digit(self.mnc[0]),
        ]
    }

    /// Reads the three octets of [`to_octets`](Self::to_octets).
    pub fn from_octets(octets: [u8; 3]) -> Option<Self> {
        let digit = |nibble: u8| (nibble < 10).then_some(b'0' + nibble);
        let [low, high] = [|octet: u8| octet & 0xf, |octet: u8| octet >> 4];
        let mcc = [digit(low(octets[0]))?, digit(high(octets[0]))?, digit(low(octets[1]))?];
        let first = [digit(low(octets[2]))?, digit(high(octets[2]))?];
        let (third, mnc_len) = match high(octets[1]) {
            0xf => (b'0', 2),
            nibble => (digit(nibble)?, 3),
        };
        Some(Self { mcc, mnc: [first[0], first[1], third], mnc_len })
    }
}

impl FromStr for PlmnId {
    type Err = NotAPlmnId;

    fn from_str(text: &str) -> Result<Self, NotAPlmnId> {
        let (mcc, mnc) = text.split_once('-').ok_or(NotAPlmnId)?;
        Self::new(mcc, mnc)
    }
}

impl fmt::Display for PlmnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.mcc(), self.mnc())
    }
}

impl fmt::Debug for PlmnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<Digits> for PlmnId {
    type Error = NotAPlmnId;

    fn try_from(digits: Digits) -> Result<Self, NotAPlmnId> {
        Self::new(&digits.mcc, &digits.mnc)
    }
}

impl From<PlmnId> for Digits {
    fn from(id: PlmnId) -> Self {
        Self { mcc: id.mcc().to_owned(), mnc: id.mnc().to_owned() }
    }
}

/// The value is not a PLMN ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAPlmnId;

impl fmt::Display for NotAPlmnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a PLMN ID is MCC-MNC: three digits, and two or three, such as 999-70 or 310-410",
        )
    }
}

impl std::error::Error for NotAPlmnId {}

/// A sorted set of networks.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct PlmnSet(Box<[PlmnId]>);

impl PlmnSet {
    /// Returns whether it contains this network.
    pub fn contains(&self, id: &PlmnId) -> bool {
        self.0.binary_search(id).is_ok()
    }

    /// Returns whether all of these are in `other`.
    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.0.iter().all(|id| other.contains(id))
    }

    /// Returns those that are also in `other`, without copying if all are.
    pub fn common_with(&self, other: &Self) -> Cow<'_, Self> {
        if self.is_subset_of(other) {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self(self.iter().filter(|id| other.contains(id)).collect()))
    }

    /// Returns each, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PlmnId> {
        self.0.iter().copied()
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<PlmnId> for PlmnSet {
    fn from_iter<I: IntoIterator<Item = PlmnId>>(ids: I) -> Self {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self(ids.into())
    }
}

impl fmt::Display for PlmnSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, id) in self.0.iter().enumerate() {
            write!(f, "{}{id}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for PlmnSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_other_codes_than_three() {
        let [short, long]: [PlmnId; 2] = ["999-70", "999-070"].map(|text| text.parse().unwrap());
        assert_ne!(short, long);
        assert_eq!((short.mnc(), long.mnc()), ("70", "070"));
        // TS 24.008 §10.5.1.3
        assert_eq!(short.to_octets(), [0x99, 0xf9, 0x07]);
        assert_eq!(long.to_octets(), [0x99, 0x09, 0x70]);
        for id in [short, long] {
            assert_eq!(PlmnId::from_octets(id.to_octets()), Some(id));
        }
    }

    #[test]
    fn malformed_plmn_ids_are_refused() {
        for text in
            ["", "999", "999-7", "99-70", "999-0700", "9a9-70", "999-7x", "999-70-1", "９99-70"]
        {
            assert_eq!(text.parse::<PlmnId>(), Err(NotAPlmnId), "{text}");
        }
        assert_eq!(PlmnId::from_octets([0xa9, 0xf9, 0x07]), None);
    }

    #[test]
    fn json_is_as_in_ts_29_571() {
        let id: PlmnId = serde_json::from_str(r#"{"mnc":"01","mcc":"001"}"#).unwrap();
        assert_eq!(id.to_string(), "001-01");
        assert_eq!(serde_json::to_string(&id).unwrap(), r#"{"mcc":"001","mnc":"01"}"#);
        assert!(serde_json::from_str::<PlmnId>(r#"{"mcc":"001","mnc":1}"#).is_err());
    }

    #[test]
    fn a_set_knows_its_subsets() {
        let set = |ids: &[&str]| ids.iter().map(|id| id.parse().unwrap()).collect::<PlmnSet>();
        let (one, both) = (set(&["001-01"]), set(&["999-70", "001-01", "999-70"]));
        assert_eq!(both.iter().len(), 2);
        assert!(one.is_subset_of(&both) && !both.is_subset_of(&one));
        assert_eq!(both.to_string(), "001-01, 999-70");
        assert!(matches!(one.common_with(&both), Cow::Borrowed(_)));
        let other = set(&["001-01", "310-410"]);
        assert_eq!(*both.common_with(&other), one);
        assert!(both.common_with(&PlmnSet::default()).is_empty());
    }
}
