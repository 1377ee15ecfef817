//! The messages of a connection: the exchanges of a registration, as lengths.
//!
//! Without HTTP, since the question is the cost of connections: each message has its length, and answers are matched to
//! requests by their order.

use std::time::Duration;

use crate::registration::{Exchange, FIELDS, LOCAL_BREAKOUT};

/// Returns how long the request of an exchange is.
pub(super) fn request_len(exchange: u8) -> Option<usize> {
    find(exchange).map(|exchange| FIELDS + exchange.request.len())
}

/// Returns how long its response is.
pub(super) fn response_len(exchange: u8) -> Option<usize> {
    find(exchange).map(|exchange| FIELDS + exchange.response.len())
}

fn find(exchange: u8) -> Option<&'static Exchange> {
    LOCAL_BREAKOUT.get(usize::from(exchange))
}

/// As long as the longest message, or longer.
pub(super) const LONGEST: usize = FIELDS + 680;

/// The length of a request's head: the number of the exchange, and when the connection was requested, on the monotonic
/// clock. The server's application reads both.
pub(super) const HEAD: usize = 9;

/// Returns the request of an exchange, which must exist.
pub(super) fn request(exchange: u8, wanted: Duration) -> Vec<u8> {
    let mut request = vec![b'.'; request_len(exchange).unwrap_or(HEAD)];
    request[0] = exchange;
    // The clock counts from the machine's start.
    let wanted = u64::try_from(wanted.as_nanos()).unwrap_or(u64::MAX);
    request[1..HEAD].copy_from_slice(&wanted.to_be_bytes());
    request
}

/// Parses the head of a request.
pub(super) fn read_head(head: [u8; HEAD]) -> (u8, Duration) {
    let [exchange, wanted @ ..] = head;
    (exchange, Duration::from_nanos(u64::from_be_bytes(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_carry_their_number_and_when_they_were_wanted() {
        let wanted = Duration::new(12_345, 678_901_234);
        for exchange in 0..LOCAL_BREAKOUT.len() as u8 {
            let request = request(exchange, wanted);
            assert_eq!(request.len(), request_len(exchange).unwrap());
            assert_eq!(read_head(*request.first_chunk().unwrap()), (exchange, wanted));
            assert!(request.len().max(response_len(exchange).unwrap()) <= LONGEST);
        }
        assert_eq!(request_len(13), None);
        assert_eq!(response_len(13), None);
    }
}
