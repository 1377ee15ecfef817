//! The adversary against both kinds of early data, and against a server without memory: a
//! measurement that never finds a replay would prove nothing.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tessera::resume::{AlreadyUsed, SingleUseRegister};

use super::client::Client;
use super::server::Server;
use crate::control::{
    ClientAnswer, ClientOrder, Connected, Preparation, RequestId, Served, ServerAnswer, ServerOrder,
};
use crate::experiment::{Mode, Way};
use crate::pki::Pki;

const REPLAYS: u32 = 3;

/// Remembers nothing.
struct Forgetful;

impl SingleUseRegister for Forgetful {
    fn claim(
        &self,
        _: &[u8; 32],
        _: Duration,
        _: Duration,
        _: Duration,
    ) -> Result<(), AlreadyUsed> {
        Ok(())
    }
}

/// Connects in this way, replays the first flight, and counts executions of the request.
fn executions_under_replay(way: Way, forgetful: bool) -> u32 {
    let pki = Pki::new().unwrap();
    let (mut server, mut client) = (Server::default(), Client::default());
    let listening = server.obey(ServerOrder::Listen(Ipv4Addr::LOCALHOST.into())).unwrap();
    let ServerAnswer::Listening(address) = listening else { panic!("{listening:?}") };
    let preparation = Preparation { way, identity: pki.server, attacked: true };
    server.obey(ServerOrder::Prepare(Box::new(preparation))).unwrap();
    let preparation = Preparation { way, identity: pki.client, attacked: true };
    client.obey(ClientOrder::Prepare(Box::new(preparation))).unwrap();
    if forgetful {
        let mut config = server.config.as_deref().unwrap().clone();
        let early_data = &mut config.policy.early_data;
        early_data.replayable_without_forward_secrecy.as_mut().unwrap().register =
            Arc::new(Forgetful);
        server.config = Some(Arc::new(config));
    }

    both(&mut server, &mut client, ClientOrder::Collect { server: address, sessions: 2 });
    let (connected, served) = both(&mut server, &mut client, ClientOrder::Connect(address));
    let connected = connected.unwrap();
    assert_eq!(served.error, None);
    assert_eq!(connected.observed, served.observed);
    assert!(connected.observed.early_data_accepted);
    for _ in 0..REPLAYS {
        both(&mut server, &mut client, ClientOrder::Replay(address));
    }
    count(&mut server, connected.request)
}

/// One connection with both ends at work.
fn both(
    server: &mut Server,
    client: &mut Client,
    order: ClientOrder,
) -> (Option<Connected>, Served) {
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
fn early_data_is_executed_once() {
    for way in Way::all(&[Mode::ZeroRtt, Mode::ZeroRttFs]) {
        assert_eq!(executions_under_replay(way, false), 1, "{way:?}");
    }
}

#[test]
fn a_server_without_memory_executes_every_replay() {
    for way in Way::all(&[Mode::ZeroRtt]) {
        assert_eq!(executions_under_replay(way, true), 1 + REPLAYS, "{way:?}");
    }
}
