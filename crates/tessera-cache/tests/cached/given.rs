//! What a server can put into its session tickets, and how a client handles it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tessera::auth::{AfterHandshake, CertificateCodec, CodecOutcome, HandshakeEnd, NextTicket};
use tessera::wire::{ExtensionType, HandshakeType, OpaqueExtension};
use tessera_harness::{ChangedCodecs, CodecChange, Mode};

use crate::{Ends, hits_of, in_hello};

const CACHED: ExtensionType = ExtensionType::CACHED_CERTIFICATES;

/// Bodies still to be sent.
type Bodies = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// A server that sends these in place of its own fleet tickets.
struct ScriptedServer {
    bodies: Bodies,
    /// Whether it announces that it takes part.
    answers: bool,
}

impl CodecChange for ScriptedServer {
    fn extensions<'a>(
        &self,
        codec: &'a dyn CertificateCodec,
        message: HandshakeType,
    ) -> &'a [OpaqueExtension] {
        if self.answers { codec.extensions(message) } else { &[] }
    }

    fn ended(&mut self, codec: Box<dyn CertificateCodec>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        let after = Some(Box::new(ScriptedTickets(self.bodies.clone())) as _);
        CodecOutcome { after, ..codec.ended(end) }
    }
}

struct ScriptedTickets(Bodies);

impl AfterHandshake for ScriptedTickets {
    fn ticket_extension(&mut self, _: &NextTicket) -> Option<OpaqueExtension> {
        let contents = self.0.lock().expect("unpoisoned").pop_front()?;
        Some(OpaqueExtension { typ: CACHED, contents })
    }
}

/// Makes a server that sends one of these with each session ticket, and as many session tickets.
fn giving(bodies: &[Vec<u8>], answers: bool) -> (Ends, Bodies) {
    let mut ends = Ends::new(Mode::Mutual);
    let count = u8::try_from(bodies.len()).expect("few");
    ends.scene.server.policy.tickets.new_session_count = count;
    ends.scene.client.policy.tickets.new_session_count = count;
    let bodies: Bodies = Arc::new(Mutex::new(bodies.iter().cloned().collect()));
    let given = bodies.clone();
    let change = move || ScriptedServer { bodies: given.clone(), answers };
    let giving = ChangedCodecs { factory: ends.server.clone(), change };
    ends.scene.server.certificate_codecs = vec![Arc::new(giving)];
    (ends, bodies)
}

/// Returns the fleet tickets that the client presents, one in each of its next hellos.
fn shown(ends: &Ends) -> Vec<Vec<u8>> {
    let sealed = |_| {
        let body = in_hello(&ends.start(), CACHED).expect("takes part");
        let (_, sealed) = body.split_at_checked(17)?;
        Some(sealed.to_vec())
    };
    (0..12).filter_map(sealed).collect()
}

fn body(id: u16, sealed: &[u8]) -> Vec<u8> {
    [&id.to_be_bytes()[..], &[sealed.len() as u8], sealed].concat()
}

#[test]
fn malformed_fleet_tickets_are_ignored_and_the_others_are_shown_once() {
    let wrong = [
        vec![],
        vec![0xc0],
        vec![0xc0, 0],
        body(0xc000, &[]),
        body(0xbfff, b"below"),
        body(0, b"none"),
        [&body(0xc000, b"more")[..], b" after it"].concat(),
        body(0xc000, b"less")[..6].to_vec(),
        vec![0xff; 4095],
    ];
    for bodies in wrong.chunks(4) {
        let (ends, left) = giving(bodies, true);
        ends.connect();
        assert!(left.lock().expect("unpoisoned").is_empty());
        assert_eq!(shown(&ends), [[0_u8; 0]; 0], "{bodies:?}");
    }
    let longest = [7; 255];
    let right = [body(0xffff, &longest), body(0xc000, &[1]), body(0xc000, &[1])];
    let (ends, _) = giving(&right, true);
    ends.connect();
    // The newest first. Two equal ones from a server are its own responsibility.
    assert_eq!(shown(&ends), [&[1][..], &[1], &longest]);
}

/// However many and whatever they are worth: four are kept, and the connection is like any other.
#[test]
fn a_client_keeps_four_of_what_a_server_gives_and_connects_with_them() {
    let many: Vec<_> = (0..8).map(|number| body(0xc000, &[number; 255])).collect();
    let (ends, left) = giving(&many, true);
    ends.connect();
    assert!(left.lock().expect("unpoisoned").is_empty());
    let before = ends.client.metrics().bytes;
    assert!(before < 8 * 1024, "{before}");
    // They can't be opened; the derived ones are found.
    for _ in 0..4 {
        assert_eq!(hits_of(&ends.connect()), (true, true));
    }
    assert_eq!(ends.server.metrics().found_by_fleet_ticket, 0);
    assert_eq!(shown(&ends), [[0_u8; 0]; 0]);
    let (ends, _) = giving(&many, true);
    ends.connect();
    let last = [7_u8, 6, 5, 4].map(|number| vec![number; 255]);
    assert_eq!(shown(&ends), last);
}

#[test]
fn a_server_that_does_not_take_part_gives_no_fleet_tickets() {
    let (ends, left) = giving(&[body(0xc000, b"one"), body(0xc000, b"two")], false);
    ends.connect();
    assert!(left.lock().expect("unpoisoned").is_empty());
    assert_eq!(shown(&ends), [[0_u8; 0]; 0]);
}

/// A session ticket on a connection older than that.
#[test]
fn a_forgotten_server_does_not_come_back_in_a_session_ticket() {
    let (ends, _) = giving(&[body(0xc000, b"late")], true);
    let mut pair = ends.start();
    pair.client_to_server();
    pair.server_to_client();
    pair.client_to_server();
    ends.client.clear();
    pair.run();
    assert_eq!(pair.to_client.sessions.len(), 1);
    assert_eq!(ends.client.metrics().entries, 0);
    assert_eq!(in_hello(&ends.start(), CACHED).map(|body| body.len()), Some(0));
}
