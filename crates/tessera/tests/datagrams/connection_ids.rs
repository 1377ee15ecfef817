//! Connection IDs (RFC 9146, RFC 9147 §9).

use tessera::Role;
use tessera::wire::{AlertDescription, ExtensionType, OpaqueExtension};
use tessera::{AssociationOptions, Destination, Error};
use tessera_harness::{Mode, lossless, to};

use crate::world::{DELAY, begin, is_connected, scene, session, with_id};

#[test]
fn each_side_s_records_have_the_connection_id_that_the_other_chose() {
    for (of_client, of_server) in
        [(&b""[..], &b"server"[..]), (b"client", b""), (b"client", b"server"), (b"", b"")]
    {
        for mode in Mode::ALL {
            let scene = scene(mode);
            let destination = to(mode.resumes().then(|| session(&scene)).flatten());
            let options = [with_id(of_client), with_id(of_server)];
            let mut pair = begin(&scene, destination, options, lossless(DELAY));
            pair.run();
            is_connected(&mut pair, &format!("{mode:?} {of_client:?} {of_server:?}"));
            for (side, id) in [(Role::Client, of_server), (Role::Server, of_client)] {
                let last = pair.sent[side as usize].last().expect("sent");
                assert_eq!(last[0] & 0x10 != 0, !id.is_empty(), "{mode:?} {side:?}");
                assert!(last[1..].starts_with(id), "{mode:?} {side:?}");
            }
        }
    }
}

#[test]
fn without_an_answer_there_are_none() {
    let none = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
    for options in [[with_id(b"client"), none.clone()], [none, with_id(b"server")]] {
        let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
        pair.run();
        is_connected(&mut pair, "one side has none");
        let all = pair.sent.iter().flatten();
        assert!(all.filter(|it| it[0] & 0xe0 == 0x20).all(|it| it[0] & 0x10 == 0));
    }
}

#[test]
fn a_record_with_another_connection_id_or_with_none_is_dropped() {
    let options = [with_id(b"client"), with_id(b"server")];
    let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
    pair.run();
    let mut record = Vec::new();
    pair.client.write(b"data", &mut record).expect("writes");
    let mut other = record.clone();
    other[1] ^= 1;
    let mut without = vec![record[0] & !0x10];
    without.extend(&record[1 + b"server".len()..]);
    for wrong in [other, without] {
        pair.deliver(Role::Server, wrong);
    }
    assert!(pair.to_server.data.is_empty());
    assert_eq!(pair.server.dropped().malformed, 2);
    pair.deliver(Role::Server, record);
    assert_eq!(pair.to_server.data, b"data");
}

#[test]
fn a_malformed_connection_id_is_refused() {
    let malformed = OpaqueExtension { typ: ExtensionType::CONNECTION_ID, contents: vec![3, 1] };
    let none = AssociationOptions { connection_id: None, ..AssociationOptions::default() };
    let destination = Destination { extensions: vec![malformed], ..to(None) };
    let options = [none, with_id(b"server")];
    let mut pair = begin(&scene(Mode::Full), destination, options, lossless(DELAY));
    pair.run_for(DELAY * 4);
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::DECODE_ERROR));
    assert_eq!(
        pair.to_client.error,
        Some(Error::AlertReceived(AlertDescription::DECODE_ERROR)),
        "the client learns it"
    );
}
