use tessera::resume::Incarnation;

use super::*;

fn requests() -> Vec<Request> {
    let home = Incarnation { vault: [7; 16], number: 3 };
    let burn = BurnAtHome::new(FlightHandle([9; 32]), home);
    let departure = departure();
    let handle = FlightHandle([9; 32]);
    let secret = |client: &[u8], secret: &[u8]| MovedSecret {
        handle,
        secret: secret.into(),
        expires_at: Duration::from_millis(77),
        client: client.to_vec(),
        departure,
    };
    vec![
        Request::Burn { id: 0, burn },
        Request::Burn { id: u64::MAX, burn },
        Request::Ping { id: 5 },
        Request::BurnMoved { id: 6, question: BurnMoved { handle, departure } },
        Request::Life { id: 7 },
        Request::Carry { id: 8, secret: secret(b"", b"") },
        Request::Carry { id: 9, secret: secret(b"drone", &[5; 300]) },
    ]
}

fn departure() -> Departure {
    let to = VaultLife { vault: [3; 16], number: 4, nonce: [5; 16] };
    Departure { to, moves: 6 }
}

fn answers() -> Vec<Answer> {
    let lost = |millis| Acknowledgement::Lost { ended_before: Duration::from_millis(millis) };
    let all = [
        Acknowledgement::Burned,
        Acknowledgement::Used,
        Acknowledgement::Unknown,
        lost(0),
        lost(u64::MAX),
        Acknowledgement::Moved(departure()),
    ];
    let acknowledged = |acknowledgement| Answer::Acknowledged { id: 77, acknowledgement };
    let others = [
        Answer::Pong { id: 1 },
        Answer::Life { id: 2, life: None },
        Answer::Life { id: 2, life: Some(departure().to) },
        Answer::Carried { id: 3, has_arrived: false },
        Answer::Carried { id: 3, has_arrived: true },
    ];
    all.into_iter().map(acknowledged).chain(others).collect()
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
    let life = [&[3; 16][..], &[0, 0, 0, 0, 0, 0, 0, 4], &[5; 16]].concat();
    let [.., moved, ask, _, carry] = &requests()[..] else { unreachable!() };
    let bytes = written(moved, Request::write);
    let expected = [&[3, 0, 0, 0, 0, 0, 0, 0, 6][..], &life, &[6], &[9; 32]];
    assert_eq!(bytes, expected.concat());
    assert_eq!(written(ask, Request::write), [4, 0, 0, 0, 0, 0, 0, 0, 7]);
    let bytes = written(carry, Request::write);
    let expected = [
        &[5, 0, 0, 0, 0, 0, 0, 0, 9][..],
        &life,
        &[6],
        &[9; 32],
        &[0, 0, 0, 0, 0, 0, 0, 77, 0, 5, 1, 44],
        b"drone",
        &[5; 300],
    ];
    assert_eq!(bytes, expected.concat());
    let answer = Answer::Life { id: 2, life: Some(departure().to) };
    let bytes = written(&answer, Answer::write);
    assert_eq!(bytes, [&[4, 0, 0, 0, 0, 0, 0, 0, 2, 1][..], &life].concat());
    let answer = Answer::Carried { id: 3, has_arrived: true };
    assert_eq!(written(&answer, Answer::write), [5, 0, 0, 0, 0, 0, 0, 0, 3, 1]);
    let acknowledgement = Acknowledgement::Moved(departure());
    let bytes = written(&Answer::Acknowledged { id: 1, acknowledgement }, Answer::write);
    assert_eq!(bytes, [&[3, 0, 0, 0, 0, 0, 0, 0, 1][..], &life, &[6]].concat());
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
        let read = Request::read(&mut unread).unwrap().unwrap();
        assert_eq!(written(&read, Request::write), written(&request, Request::write));
    }
    assert!(unread.is_empty() && matches!(Request::read(&mut unread), Ok(None)));

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
            assert!(matches!(Request::read(&mut unread), Ok(None)) && unread.len() == len);
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
                // Another kind, or a greater length.
                Ok(None) => assert!(bit < 8 || bytes[0] == CARRY),
                Ok(Some(read)) => {
                    let again = written(&read, Request::write);
                    assert!(again != bytes && changed.starts_with(&again));
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

/// Its length alone would fill the buffer.
#[test]
fn a_secret_that_is_too_long_is_neither_sent_nor_waited_for() {
    let carry = |client: usize, secret: usize| Request::Carry {
        id: 1,
        secret: MovedSecret {
            handle: FlightHandle([9; 32]),
            secret: vec![0; secret].into(),
            expires_at: Duration::ZERO,
            client: vec![0; client],
            departure: departure(),
        },
    };
    let longest = carry(MAX_CLIENT, MAX_SECRET);
    assert!(longest.is_sendable());
    let bytes = written(&longest, Request::write);
    assert_eq!(bytes.len(), Request::MAX_LEN);
    assert!(matches!(Request::read(&mut &bytes[..]), Ok(Some(_))));
    for too_long in [carry(MAX_CLIENT + 1, 0), carry(0, MAX_SECRET + 1)] {
        assert!(!too_long.is_sendable());
        let bytes = written(&too_long, Request::write);
        assert!(matches!(Request::read(&mut &bytes[..CARRY_HEAD_LEN]), Err(Malformed)));
    }
}

#[test]
fn an_answer_of_another_kind_is_none() {
    let fits = |request: &Request, answer: &Answer| match request {
        Request::Burn { .. } | Request::BurnMoved { .. } => {
            matches!(answer, Answer::Acknowledged { .. })
        }
        Request::Ping { .. } => matches!(answer, Answer::Pong { .. }),
        Request::Life { .. } => matches!(answer, Answer::Life { .. }),
        Request::Carry { .. } => matches!(answer, Answer::Carried { .. }),
    };
    for request in requests() {
        for answer in answers() {
            assert_eq!(request.fits(&answer), fits(&request, &answer), "{answer:?}");
        }
    }
}
