//! What each connection carries: the exchanges of a registration of a roaming subscriber.
//!
//! There is no HTTP here, for the question is what connections cost: each message has its length, and
//! answers are told from requests by their place.

use std::time::Duration;

/// The lengths of the bodies of a registration with local breakout, request and response, in bytes: order and
/// sizes of what two SEPPs of open5gs exchange (its captures `5g-roaming-lbo.pcapng`), as `sepp_pair` has them.
pub(crate) const EXCHANGES: [(usize, usize); 13] = [
    // Discovery of the AUSF; authentication, and its confirmation.
    (0, 673),
    (103, 299),
    (46, 144),
    // Discovery of the UDM; the AMF registers.
    (0, 666),
    (226, 226),
    // What is subscribed: access and mobility, slices, sessions. The AMF will hear of changes.
    (0, 170),
    (0, 92),
    (0, 2),
    (244, 244),
    // Discovery for the SMF; its data.
    (0, 680),
    (0, 455),
    // The subscription ends; the AMF's registration changes.
    (0, 0),
    (79, 0),
];

/// What stands for the HTTP/2 headers of a request or response, in bytes: this lab's choice.
pub(crate) const HEADERS: usize = 100;

/// How long the request of an exchange is.
pub(super) fn request_len(exchange: u8) -> Option<usize> {
    EXCHANGES.get(usize::from(exchange)).map(|(request, _)| HEADERS + request)
}

/// How long its response is.
pub(super) fn response_len(exchange: u8) -> Option<usize> {
    EXCHANGES.get(usize::from(exchange)).map(|(_, response)| HEADERS + response)
}

/// The longest response.
pub(super) const LONGEST: usize = HEADERS + 680;

/// The beginning of a request: which exchange it is, and when the connection was wanted, on the monotonic
/// clock. The server's application reads both.
pub(super) const HEAD: usize = 9;

/// The request of an exchange, which there is.
pub(super) fn request(exchange: u8, wanted: Duration) -> Vec<u8> {
    let mut request = vec![b'.'; request_len(exchange).unwrap_or(HEAD)];
    request[0] = exchange;
    // The clock counts from the machine's start.
    let wanted = u64::try_from(wanted.as_nanos()).unwrap_or(u64::MAX);
    request[1..HEAD].copy_from_slice(&wanted.to_be_bytes());
    request
}

/// What the beginning of a request says.
pub(super) fn read_head(head: [u8; HEAD]) -> (u8, Duration) {
    let [exchange, wanted @ ..] = head;
    (exchange, Duration::from_nanos(u64::from_be_bytes(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_say_which_they_are_and_since_when_they_are_wanted() {
        let wanted = Duration::new(12_345, 678_901_234);
        for exchange in 0..EXCHANGES.len() as u8 {
            let request = request(exchange, wanted);
            assert_eq!(request.len(), request_len(exchange).unwrap());
            assert_eq!(read_head(*request.first_chunk().unwrap()), (exchange, wanted));
            assert!(response_len(exchange).unwrap() <= LONGEST);
        }
        assert_eq!(request_len(13), None);
        assert_eq!(response_len(13), None);
    }
}
