//! Just enough DER to find a certificate's issuer and expiry.

use crate::bytes::Bytes;

const INTEGER: u8 = 2;
pub(crate) const OBJECT_IDENTIFIER: u8 = 6;
const UTC_TIME: u8 = 23;
const GENERALIZED_TIME: u8 = 24;
pub(crate) const SEQUENCE: u8 = 0x30;
/// The version of a certificate: context-specific, constructed, 0.
const VERSION: u8 = 0xa0;

/// Reads the contents of the next element, if it has this tag.
pub(crate) fn element<'a>(reader: &mut Bytes<'a>, tag: u8) -> Option<&'a [u8]> {
    let mut ahead = *reader;
    if ahead.u8()? != tag {
        return None;
    }
    let len = match ahead.u8()? {
        short @ 0..=0x7f => usize::from(short),
        // No message needs more than four bytes of length.
        long @ 0x81..=0x84 => {
            let bytes = ahead.take(usize::from(long & 0x7f))?;
            bytes.iter().fold(0usize, |len, byte| len << 8 | usize::from(*byte))
        }
        _ => return None,
    };
    let contents = ahead.take(len)?;
    *reader = ahead;
    Some(contents)
}

/// Returns the name of a certificate's issuer (RFC 5280 §4.1.2.4), DER without its frame; empty if there is
/// none, as in a raw public key.
pub(crate) fn issuer(certificate: &[u8]) -> &[u8] {
    find_issuer(certificate).unwrap_or_default()
}

fn find_issuer(certificate: &[u8]) -> Option<&[u8]> {
    element(&mut from_issuer(certificate)?, SEQUENCE)
}

/// Returns when a certificate expires (RFC 5280 §4.1.2.5), in seconds since the Unix epoch; `None` if that can't be
/// read.
pub(crate) fn expires_at(certificate: &[u8]) -> Option<u64> {
    let mut fields = from_issuer(certificate)?;
    let _issuer = element(&mut fields, SEQUENCE)?;
    let mut validity = Bytes(element(&mut fields, SEQUENCE)?);
    let _not_before = time(&mut validity)?;
    time(&mut validity)
}

/// Returns the fields of a certificate from its issuer on.
fn from_issuer(certificate: &[u8]) -> Option<Bytes<'_>> {
    let mut body = Bytes(element(&mut Bytes(certificate), SEQUENCE)?);
    let mut fields = Bytes(element(&mut body, SEQUENCE)?);
    let _version = element(&mut fields, VERSION);
    let _serial = element(&mut fields, INTEGER)?;
    let _algorithm = element(&mut fields, SEQUENCE)?;
    Some(fields)
}

/// Reads a time: YYMMDDHHMMSSZ until 2049, YYYYMMDDHHMMSSZ from then on.
fn time(reader: &mut Bytes<'_>) -> Option<u64> {
    let (century, digits) = match element(reader, UTC_TIME) {
        Some(time) => (None, time),
        None => {
            let (century, digits) = element(reader, GENERALIZED_TIME)?.split_at_checked(2)?;
            (Some(two(century)?), digits)
        }
    };
    let digits = digits.strip_suffix(b"Z").filter(|it| it.len() == 12)?;
    let mut fields = digits.chunks_exact(2).map(two);
    let mut next = || fields.next()?;
    let (year, month, day) = (next()?, next()?, next()?);
    let (hour, minute, second) = (next()?, next()?, next()?);
    let century = century.unwrap_or(if year < 50 { 20 } else { 19 });
    let days = days_before(century * 100 + year, month, day)?;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

fn two(digits: &[u8]) -> Option<u64> {
    let [tens, ones] = digits.try_into().ok()?;
    let value = |digit: u8| digit.is_ascii_digit().then(|| u64::from(digit - b'0'));
    Some(10 * value(tens)? + value(ones)?)
}

/// Returns how many days lie between 1970-01-01 and this one.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    const BEFORE_MONTH: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leaps = |years: u64| years / 4 - years / 100 + years / 400;
    let whole = year.checked_sub(1970)?;
    let in_year = BEFORE_MONTH.get(month.checked_sub(1)? as usize)? + day.checked_sub(1)?;
    // The leap day counts from March on.
    let counted = if month > 2 { year } else { year - 1 };
    Some(whole * 365 + leaps(counted) - leaps(1969) + in_year)
}

#[cfg(test)]
mod tests {
    use super::{days_before, time};
    use crate::bytes::Bytes;

    #[test]
    fn times_of_certificates_are_read() {
        let read = |tag: u8, text: &str| {
            let der = [&[tag, text.len() as u8], text.as_bytes()].concat();
            time(&mut Bytes(&der))
        };
        // date -ud '2026-11-23 02:14:59' +%s
        assert_eq!(read(23, "261123021459Z"), Some(1_795_400_099));
        assert_eq!(read(24, "20500301000000Z"), Some(2_529_705_600));
        assert_eq!(read(23, "700101000000Z"), Some(0));
        // Two digits are of 1950 to 2049 (RFC 5280 §4.1.2.5.1).
        assert_eq!(read(23, "491231235959Z"), Some(2_524_607_999));
        for wrong in [
            "261123021459",
            "2611230214Z",
            "26112302145xZ",
            "500101000000Z",
            "690101000000Z",
            "260023021459Z",
        ] {
            assert_eq!(read(23, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2100, 3, 1), 47_541),
        ] {
            assert_eq!(days_before(date.0, date.1, date.2), Some(days), "{date:?}");
        }
    }
}
