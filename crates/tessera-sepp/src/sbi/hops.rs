//! `3gpp-Sbi-Max-Forward-Hops`: ends loops.

use std::fmt;

use http::{HeaderMap, HeaderValue};

use super::headers::MAX_FORWARD_HOPS;

/// Counts this SEPP as a hop (TS 29.500 §6.10.10.2) by decrementing the count. A request without a count stays without:
/// a loop of SEPPs alone ends by itself, because each only accepts requests for its own network, and only routes those
/// for another one.
///
/// # Errors
/// If the request must not be forwarded: the count is 0 or can't be read.
pub fn count(headers: &mut HeaderMap) -> Result<(), HopError> {
    let Some(value) = headers.get(MAX_FORWARD_HOPS) else { return Ok(()) };
    let text = value.to_str().map_err(|_| HopError::Malformed)?.trim();
    // `5; nodetype=scp`: a SEPP counts itself whatever node type is counted, so as not to keep a loop alive.
    let (digits, rest) = text.split_at(text.find(';').unwrap_or(text.len()));
    let digits = digits.trim_end();
    if !(1..=2).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(HopError::Malformed);
    }
    let hops: u8 = digits.parse().map_err(|_| HopError::Malformed)?;
    let left = hops.checked_sub(1).ok_or(HopError::Reached)?;
    let value = HeaderValue::from_str(&format!("{left}{rest}")).map_err(|_| HopError::Malformed)?;
    headers.insert(MAX_FORWARD_HOPS, value);
    Ok(())
}

/// Why a request must not be forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HopError {
    /// It has passed the maximum number of proxies.
    Reached,
    /// The header isn't a number of one or two digits.
    Malformed,
}

impl fmt::Display for HopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reached => {
                "the request went through as many proxies as 3gpp-Sbi-Max-Forward-Hops allows"
            }
            Self::Malformed => "3gpp-Sbi-Max-Forward-Hops must begin with one or two digits",
        })
    }
}

impl std::error::Error for HopError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(value: &'static str) -> Result<String, HopError> {
        let mut headers =
            HeaderMap::from_iter([(MAX_FORWARD_HOPS, HeaderValue::from_static(value))]);
        count(&mut headers)?;
        Ok(headers[MAX_FORWARD_HOPS].to_str().unwrap().to_owned())
    }

    #[test]
    fn each_hop_is_counted_until_none_is_left() {
        assert_eq!(counted("5; nodetype=scp").unwrap(), "4; nodetype=scp");
        assert_eq!(counted("10;nodetype=sepp").unwrap(), "9;nodetype=sepp");
        assert_eq!(counted("1").unwrap(), "0");
        assert_eq!(counted("0; nodetype=scp"), Err(HopError::Reached));
        for malformed in ["", "x", "-1", "+1", "100", ";", "1 2"] {
            assert_eq!(counted(malformed), Err(HopError::Malformed), "{malformed}");
        }
        let mut none = HeaderMap::new();
        count(&mut none).unwrap();
        assert!(none.is_empty());
    }
}
