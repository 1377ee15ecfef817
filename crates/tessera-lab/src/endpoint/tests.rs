//! The adversary against both kinds of early data, and against servers without memory, to show that it finds replays
//! where they are possible.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

use tessera::resume::ClientSession;
use tessera_reports::Mode;

use super::client::Client;
use super::server::Server;
use crate::control::{
    self, ClientAnswer, ClientOrder, Connected, Preparation, RequestId, ServedConnection,
    ServerAnswer, ServerOrder,
};
use crate::pki::Pki;
use crate::ways::Way;
use tessera_adversary::open_with_memory;
use tessera_adversary::process_memory::ProcessMemory;

const REPLAYS: u32 = 3;

/// Connects in this way, replays the first flight, and counts executions of the request.
fn executions_under_replay(way: Way, servers: &[control::Server]) -> u32 {
    let (mut server, mut client, address) = prepared(way);
    let (connected, served) = both(&mut server, &mut client, ClientOrder::Connect(address));
    let connected = connected.unwrap();
    assert_eq!(served.error, None);
    assert_eq!(connected.observed, served.observed);
    assert!(connected.observed.early_data_accepted);
    for replayed_at in servers {
        server.obey(ServerOrder::Become(*replayed_at)).unwrap();
        for _ in 0..REPLAYS {
            both(&mut server, &mut client, ClientOrder::Replay(address));
        }
    }
    count(&mut server, connected.request)
}

/// Both ends, ready for this way, with sessions to resume.
fn prepared(way: Way) -> (Server, Client, SocketAddr) {
    let pki = Pki::new().unwrap();
    let (mut server, mut client) = (Server::default(), Client::default());
    let listening = server.obey(ServerOrder::Listen(Ipv4Addr::LOCALHOST.into())).unwrap();
    let ServerAnswer::Listening(address) = listening else { panic!("{listening:?}") };
    let preparation = Preparation { attacked: true, ..Preparation::new(way, pki.server) };
    server.obey(ServerOrder::Prepare(Box::new(preparation))).unwrap();
    let preparation = Preparation { attacked: true, ..Preparation::new(way, pki.client) };
    client.obey(ClientOrder::Prepare(Box::new(preparation))).unwrap();
    both(&mut server, &mut client, ClientOrder::Collect { server: address, sessions: 2 });
    (server, client, address)
}

/// One connection with both ends at work.
fn both(
    server: &mut Server,
    client: &mut Client,
    order: ClientOrder,
) -> (Option<Connected>, ServedConnection) {
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.accept().unwrap());
        let connected = match client.obey(order).unwrap() {
            ClientAnswer::Connected(connected) => Some(connected),
            ClientAnswer::Ready => None,
            other => panic!("{other:?}"),
        };
        (connected, serving.join().unwrap())
    })
}

fn count(server: &mut Server, request: RequestId) -> u32 {
    match server.obey(ServerOrder::CountExecutions(request)).unwrap() {
        ServerAnswer::Executions(count) => count,
        other => panic!("{other:?}"),
    }
}

#[test]
fn forward_secret_early_data_is_executed_once() {
    for way in Way::all(&[Mode::ZeroRttFs, Mode::ZeroRttFsPsk]) {
        assert_eq!(executions_under_replay(way, &control::Server::ALL), 1, "{way:?}");
    }
}

/// A register protects only its own server, also a new one; a fleet needs a shared one.
#[test]
fn replayable_early_data_is_executed_once_by_each_register() {
    for way in Way::all(&[Mode::ZeroRtt]) {
        use control::Server::{First, Other, Restarted};
        assert_eq!(executions_under_replay(way, &[First]), 1, "{way:?}");
        assert_eq!(executions_under_replay(way, &[Restarted]), 1, "{way:?}");
        assert_eq!(executions_under_replay(way, &[Other]), 2, "{way:?}");
    }
}

#[test]
fn a_server_without_memory_executes_every_replay() {
    let servers = control::Server::ALL;
    for way in Way::all(&[Mode::ZeroRttUnguarded]) {
        assert_eq!(executions_under_replay(way, &servers), 1 + 3 * REPLAYS, "{way:?}");
    }
}

/// The adversary's copy is first. The client then learns that its key was used, and gives up; or, of replayable early
/// data, only that it was rejected, and sends its request again.
#[test]
fn a_race_for_forward_secret_early_data_executes_it_once() {
    let cases = [
        ([Mode::ZeroRttFs], 1, true),
        ([Mode::ZeroRttFsPsk], 1, true),
        ([Mode::ZeroRtt], 2, false),
    ];
    for (modes, executions, given_up) in cases {
        for way in Way::all(&modes) {
            let (mut server, mut client, address) = prepared(way);
            let connected = thread::scope(|scope| {
                let serving = scope.spawn(|| {
                    server.accept().unwrap();
                    assert_eq!(server.accept().unwrap().error, None);
                });
                let raced = ClientOrder::ConnectRaced { copy_to: address, server: address };
                let answer = client.obey(raced).unwrap();
                serving.join().unwrap();
                let ClientAnswer::Connected(connected) = answer else { panic!("{answer:?}") };
                connected
            });
            assert!(!connected.observed.early_data_accepted, "{way:?}");
            assert_eq!(connected.response.is_none(), given_up, "{way:?}");
            assert_eq!(count(&mut server, connected.request), executions, "{way:?}");
        }
    }
}

/// Checks that the adversary finds a secret in a memory that retains it.
#[test]
fn a_psk_that_stays_in_memory_opens_what_was_recorded() {
    for way in Way::all(&[Mode::ZeroRtt]) {
        let (mut server, mut client, address) = prepared(way);
        both(&mut server, &mut client, ClientOrder::Connect(address));
        let ClientAnswer::Stolen(stolen) = client.obey(ClientOrder::GiveAll).unwrap() else {
            panic!("nothing was stolen")
        };
        let used = ClientSession::import(&stolen.used.unwrap()).unwrap();
        let kept = std::hint::black_box(used.state.psk.expose().to_vec());
        let memory = ProcessMemory::of_this_process().unwrap().read().unwrap();
        assert!(open_with_memory(&stolen.capture, &memory).early_data, "{way:?}");
        drop(kept);
    }
}
