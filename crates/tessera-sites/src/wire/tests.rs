use super::*;

fn requests() -> Vec<Request> {
    let home = Incarnation { vault: [7; 16], number: 3 };
    let burn = BurnAtHome::new(FlightHandle([9; 32]), home);
    vec![
        Request::Burn { id: 0, burn },
        Request::Burn { id: u64::MAX, burn },
        Request::Ping { id: 5 },
    ]
}

fn answers() -> Vec<Answer> {
    let lost = |millis| Acknowledgement::Lost { ended_before: Duration::from_millis(millis) };
    let all = [
        Acknowledgement::Burned,
        Acknowledgement::Used,
        Acknowledgement::Unknown,
        lost(0),
        lost(u64::MAX),
    ];
    let acknowledged = |acknowledgement| Answer::Acknowledged { id: 77, acknowledgement };
    all.into_iter().map(acknowledged).chain([Answer::Pong { id: 1 }]).collect()
}

fn written<T>(frame: &T, write: impl Fn(&T, &mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(frame, &mut bytes);
    bytes
}

/// The frames of the document.
#[test]
fn frames_are_as_documented() {
    let home = Incarnation { vault: [0xaa; 16], number: 0x0102 };
    let burn = BurnAtHome::new(FlightHandle([0xbb; 32]), home);
    let bytes = written(&Request::Burn { id: 0x0304, burn }, Request::write);
    let expected =
        [&[1, 0, 0, 0, 0, 0, 0, 3, 4][..], &[0xaa; 16], &[0, 0, 0, 0, 0, 0, 1, 2], &[0xbb; 32]];
    assert_eq!(bytes, expected.concat());
    assert_eq!(written(&Request::Ping { id: 1 }, Request::write), [2, 0, 0, 0, 0, 0, 0, 0, 1]);
    let acknowledgement = Acknowledgement::Lost { ended_before: Duration::from_micros(258_999) };
    let bytes = written(&Answer::Acknowledged { id: 1, acknowledgement }, Answer::write);
    assert_eq!(bytes, [1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 1, 2]);
}

#[test]
fn frames_are_read_as_they_were_written_one_after_the_other() {
    let mut bytes = Vec::new();
    requests().iter().for_each(|request| request.write(&mut bytes));
    let mut unread = bytes.as_slice();
    for request in requests() {
        assert!(Request::read(&mut unread).unwrap() == Some(request));
    }
    assert!(unread.is_empty() && Request::read(&mut unread) == Ok(None));

    let mut bytes = Vec::new();
    answers().iter().for_each(|answer| answer.write(&mut bytes));
    let mut unread = bytes.as_slice();
    for answer in answers() {
        assert_eq!(Answer::read(&mut unread), Ok(Some(answer)));
    }
    assert!(unread.is_empty());
}

#[test]
fn a_prefix_of_a_frame_is_waited_for_and_nothing_of_it_is_taken() {
    for bytes in requests().iter().map(|request| written(request, Request::write)) {
        for len in 0..bytes.len() {
            let mut unread = &bytes[..len];
            assert!(Request::read(&mut unread) == Ok(None) && unread.len() == len);
        }
    }
    for bytes in answers().iter().map(|answer| written(answer, Answer::write)) {
        for len in 0..bytes.len() {
            let mut unread = &bytes[..len];
            assert_eq!((Answer::read(&mut unread), unread.len()), (Ok(None), len));
        }
    }
}

/// Changed bytes parse as another frame, if at all, which encodes to just these bytes.
#[test]
fn a_frame_with_a_bit_changed_is_another_frame_or_none() {
    let mut refused = 0;
    for request in requests() {
        let bytes = written(&request, Request::write);
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            match Request::read(&mut changed.as_slice()) {
                Err(Malformed) => refused += 1,
                Ok(None) => assert!(bit < 8),
                Ok(Some(read)) => {
                    assert!(read != request);
                    assert!(changed.starts_with(&written(&read, Request::write)));
                }
            }
        }
    }
    for answer in answers() {
        let bytes = written(&answer, Answer::write);
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            match Answer::read(&mut changed.as_slice()) {
                Err(Malformed) => refused += 1,
                Ok(None) => assert!(bit < 8),
                Ok(Some(read)) => {
                    assert_ne!(read, answer);
                    assert!(changed.starts_with(&written(&read, Answer::write)));
                }
            }
        }
    }
    assert!(refused > 100);
}
