//! The times of certificates.

use crate::defect::Defect;
use crate::der::{Elements, Tag};

/// When a certificate is valid, in seconds since the Unix epoch: both included.
#[derive(Clone, Copy)]
pub(crate) struct Validity {
    pub(crate) not_before: u64,
    pub(crate) not_after: u64,
}

impl Validity {
    /// Reads the contents of a Validity (RFC 5280 §4.1.2.5).
    pub(crate) fn read(contents: &[u8]) -> Result<Self, Defect> {
        let mut reader = Elements::new(contents);
        let (not_before, not_after) = (time(&mut reader)?, time(&mut reader)?);
        reader.end()?;
        if not_before > not_after {
            return Err(Defect::Dates);
        }
        Ok(Self { not_before, not_after })
    }

    pub(crate) fn check(&self, unix: u64) -> Result<(), Defect> {
        if unix < self.not_before {
            Err(Defect::NotYetValid)
        } else if unix > self.not_after {
            Err(Defect::Expired)
        } else {
            Ok(())
        }
    }

    /// Returns when both are valid.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            not_before: self.not_before.max(other.not_before),
            not_after: self.not_after.min(other.not_after),
        }
    }
}

/// Reads a time: YYMMDDHHMMSSZ of 1950 to 2049, or YYYYMMDDHHMMSSZ (RFC 5280 §4.1.2.5.1, §4.1.2.5.2).
fn time(reader: &mut Elements<'_>) -> Result<u64, Defect> {
    let (tag, text) = reader.any()?;
    let text = text.strip_suffix(b"Z").ok_or(Defect::Malformed)?;
    let (pairs, rest) = text.as_chunks();
    // Century, year, month, day, hour, minute, second.
    let mut fields = [0; 7];
    let read = match tag {
        Tag::UtcTime => fields.get_mut(1..),
        Tag::GeneralizedTime => fields.get_mut(..),
        _ => None,
    };
    let read = read.filter(|read| read.len() == pairs.len() && rest.is_empty());
    for (field, pair) in read.ok_or(Defect::Malformed)?.iter_mut().zip(pairs) {
        let [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = pair else { return Err(Defect::Malformed) };
        *field = u32::from(tens - b'0') * 10 + u32::from(ones - b'0');
    }
    let [century, year, month, day, hour, minute, second] = fields;
    let year = year
        + match (tag, year) {
            (Tag::UtcTime, ..50) => 2000,
            (Tag::UtcTime, _) => 1900,
            _ => century * 100,
        };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    let is_time =
        year >= 1970 && (1..=days).contains(&day) && hour < 24 && minute < 60 && second < 60;
    if !is_time {
        return Err(Defect::Malformed);
    }
    // A year begins in March here, so that the leap day is its last. Its months have 153 days in five.
    let (months, year) = ((month + 9) % 12, year - u32::from(month <= 2));
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (months * 153 + 2) / 5 + day - 1;
    // From 1 March of the year 0 to the Unix epoch.
    let days = u64::from(days - 719_468);
    Ok(days * 86_400 + u64::from(hour * 3600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::{Validity, time};
    use crate::defect::Defect;
    use crate::der::Elements;

    fn read(tag: u8, text: &str) -> Option<u64> {
        let der = [&[tag, text.len() as u8], text.as_bytes()].concat();
        time(&mut Elements::new(&der)).ok()
    }

    /// `date -ud '2026-11-23 02:14:59' +%s`
    #[test]
    fn times_of_certificates_are_read() {
        for (tag, text, unix) in [
            (23, "261123021459Z", 1_795_400_099),
            (23, "700101000000Z", 0),
            (23, "491231235959Z", 2_524_607_999),
            (24, "20500301000000Z", 2_529_705_600),
            (24, "20000229000000Z", 951_782_400),
            (24, "20000301000000Z", 951_868_800),
            (24, "21000301000000Z", 4_107_542_400),
            (24, "99991231235959Z", 253_402_300_799),
        ] {
            assert_eq!(read(tag, text), Some(unix), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for (tag, text) in [
            (23, "261123021459"),
            (23, "2611230214Z"),
            (23, "26112302145xZ"),
            (23, "26112302145:Z"),
            (23, "500101000000Z"),
            (23, "260023021459Z"),
            (23, "261323021459Z"),
            (23, "260229021459Z"),
            (23, "260431021459Z"),
            (23, "260100021459Z"),
            (23, "260101240000Z"),
            (23, "260101006000Z"),
            (23, "260101000060Z"),
            (23, "26010100000000Z"),
            (23, "2601010000000Z"),
            (23, "260101000000+0100"),
            (23, ""),
            (24, "261123021459Z"),
            (24, "21000229000000Z"),
            (24, "19691231235959Z"),
            (24, "20261123021459.5Z"),
            (22, "261123021459Z"),
        ] {
            assert_eq!(read(tag, text), None, "{text}");
        }
    }

    #[test]
    fn a_certificate_is_valid_from_its_first_second_to_its_last() {
        let validity = Validity { not_before: 5, not_after: 7 };
        for (unix, expected) in
            [(4, Err(Defect::NotYetValid)), (5, Ok(())), (7, Ok(())), (8, Err(Defect::Expired))]
        {
            assert_eq!(validity.check(unix), expected);
        }
    }
}
