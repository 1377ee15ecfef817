//! Datagrams as anyone can send them.

use crate::Numbers;

/// Returns a datagram that no peer has sealed: random bytes, records of random parts, or one of `seen` with a change.
pub fn garbage(numbers: &mut Numbers, seen: &[Vec<u8>]) -> Vec<u8> {
    match numbers.below(6) {
        0 => numbers.bytes(1300),
        1 => plaintext_record(numbers),
        2 => protected_record(numbers),
        3 => [plaintext_record(numbers), protected_record(numbers)].concat(),
        _ if seen.is_empty() => Vec::new(),
        _ => {
            let mut datagram = numbers.pick(seen).clone();
            change(numbers, &mut datagram);
            datagram
        }
    }
}

/// Changes a datagram in one or several places.
pub fn change(numbers: &mut Numbers, datagram: &mut Vec<u8>) {
    loop {
        let len = datagram.len();
        match numbers.below(6) {
            _ if len == 0 => datagram.push(numbers.next() as u8),
            0 => datagram.truncate(numbers.below(len)),
            1 => datagram.extend(numbers.bytes(40)),
            2 => datagram.rotate_left(numbers.below(len)),
            // Headers are at the beginning.
            3 => datagram[numbers.below(len.min(30))] = numbers.next() as u8,
            _ => datagram[numbers.below(len)] ^= 1 << numbers.below(8),
        }
        if numbers.happens(70) {
            return;
        }
    }
}

/// Returns a record without protection: fragments of messages, ACKs, alerts and types that there aren't.
fn plaintext_record(numbers: &mut Numbers) -> Vec<u8> {
    let typ = *numbers.pick(&[20, 21, 22, 22, 22, 23, 24, 25, 26, 26]);
    let content = match typ {
        22 => (0..=numbers.below(3)).flat_map(|_| fragment(numbers)).collect(),
        26 => ack(numbers),
        _ => numbers.bytes(40),
    };
    let mut record = vec![typ, 254, 253];
    record.extend([0, u8::from(numbers.happens(5)), 0, 0, 0, 0, 0, numbers.next() as u8]);
    record.extend(length(numbers, content.len()).to_be_bytes());
    record.extend(content);
    record
}

fn fragment(numbers: &mut Numbers) -> Vec<u8> {
    let body = numbers.bytes(60);
    let offset = if numbers.happens(50) { 0 } else { numbers.below(1 << 24) };
    let message_len = match numbers.below(3) {
        0 => offset + body.len(),
        1 => numbers.below(1 << 24),
        _ => numbers.below(200),
    };
    let u24 = |value: usize| [(value >> 16) as u8, (value >> 8) as u8, value as u8];
    let mut fragment = vec![*numbers.pick(&[1, 2, 4, 8, 11, 15, 20, 24, 254])];
    fragment.extend(u24(message_len));
    fragment.extend([0, numbers.below(12) as u8]);
    fragment.extend(u24(offset));
    fragment.extend(u24(length(numbers, body.len()).into()));
    fragment.extend(body);
    fragment
}

fn ack(numbers: &mut Numbers) -> Vec<u8> {
    let mut names = Vec::new();
    for _ in 0..numbers.below(4) {
        names.extend((numbers.below(5) as u64).to_be_bytes());
        // Mostly of records that there never were.
        names.extend((1000 + numbers.next() % 1000).to_be_bytes());
    }
    let mut ack = length(numbers, names.len()).to_be_bytes().to_vec();
    ack.extend(names);
    ack
}

/// Returns a record as under keys, of random bytes.
fn protected_record(numbers: &mut Numbers) -> Vec<u8> {
    let first = 0x20 | numbers.next() as u8 & 0x1f;
    let mut record = vec![first];
    record.extend(numbers.bytes(10));
    let content = numbers.bytes(300);
    record.extend(length(numbers, content.len()).to_be_bytes());
    record.extend(content);
    record
}

/// Returns a length, which may be wrong.
fn length(numbers: &mut Numbers, len: usize) -> u16 {
    match numbers.below(10) {
        0 => numbers.next() as u16,
        1 => (len as u16).wrapping_sub(1),
        _ => len as u16,
    }
}
