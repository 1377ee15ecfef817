//! Whether what was written so far waits for a request.

/// Whether these bytes begin an HTTP/2 connection and hold no request yet: preface, SETTINGS and request are
/// written separately, with flushes in between.
///
/// Detects the preface instead of an ALPN name: clients with prior knowledge negotiate none (RFC 9113 §3.3).
pub(super) fn awaits_request(bytes: &[u8]) -> bool {
    match bytes.strip_prefix(PREFACE) {
        Some(frames) => !has_request(frames),
        None => PREFACE.starts_with(bytes),
    }
}

/// Whether the frames contain a whole field section: a HEADERS or CONTINUATION frame with END_HEADERS (RFC
/// 9113 §6.2, §6.10).
fn has_request(mut frames: &[u8]) -> bool {
    // RFC 9113 §4.1
    while let [high, middle, low, typ, flags, _, _, _, _, rest @ ..] = frames {
        let len = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
        let Some(next) = rest.get(len..) else { return false };
        if matches!(*typ, HEADERS | CONTINUATION) && flags & END_HEADERS != 0 {
            return true;
        }
        frames = next;
    }
    false
}

/// RFC 9113 §3.4
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(typ: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([typ, flags, 0, 0, 0, 1]);
        frame.extend(payload);
        frame
    }

    const SETTINGS: u8 = 4;

    #[test]
    fn an_http2_connection_awaits_a_whole_field_section() {
        let headers = frame(HEADERS, END_HEADERS, &[7; 30]);
        let whole = [PREFACE, &frame(SETTINGS, END_HEADERS, &[0; 6]), &headers].concat();
        for len in 1..whole.len() {
            assert!(awaits_request(&whole[..len]), "{len} bytes");
        }
        assert!(!awaits_request(&whole));
        let begun = [PREFACE, &frame(HEADERS, 0, &[7; 30])].concat();
        assert!(awaits_request(&begun));
        let continued = [&begun[..], &frame(CONTINUATION, END_HEADERS, &[7; 30])].concat();
        assert!(!awaits_request(&continued));
    }

    #[test]
    fn anything_else_awaits_nothing() {
        for bytes in [&b"GET / HTTP/1.1\r\n"[..], b"PRINT", b"\x00", b"PRI * HTTP/2.0\r\n\r\nsm"] {
            assert!(!awaits_request(bytes), "{}", bytes.escape_ascii());
        }
    }
}
