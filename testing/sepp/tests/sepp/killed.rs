//! SEPPs that are killed, cut off or shut down: service continues.

use std::net::TcpStream;

use http::Method;
use tessera_sepp_tests::{HOME, VISITED, Words, World};
use tessera_test_peers::wait_until;

use crate::SEPP;
use crate::early::warm_up;

/// T9: either side, with or without a proper end.
#[test]
fn after_a_restart_of_either_side_service_goes_on() {
    let mut world = World::start(SEPP, Words::default());
    world.get();
    world.home[0].kill();
    world.home[0].start();
    world.served();
    world.visited.kill();
    world.visited.start();
    world.served();
    for _ in 0..2 {
        assert!(world.home[0].end().success(), "{}", world.output());
        world.visited.becomes(HOME, "terminated");
        world.home[0].start();
        world.served();
        world.associated();
        assert!(world.visited.end().success(), "{}", world.output());
        world.home().becomes(VISITED, "terminated");
        world.visited.start();
        world.served();
        world.associated();
    }
    world.get_over_new_connection();
    assert_eq!(world.udm.executed_again(), []);
}

/// Requests in progress end before their SEPP does, and the peer learns of the end.
#[test]
fn a_sepp_that_is_asked_to_end_finishes_its_requests() {
    for which in ["home", "visited"] {
        let mut world = World::start(SEPP, Words::default());
        let before = world.udm.asked().len();
        std::thread::scope(|scope| {
            let asks = scope.spawn(|| {
                let path = "/nudm-sdm/v2/imsi-999700000000001/slow";
                let asked = tessera_sepp_tests::request(Method::GET, path, "under-way");
                world.amf.ask(asked.body(bytes::Bytes::new()).unwrap())
            });
            wait_until("it is under way", || (world.udm.asked().len() > before).then_some(()));
            let sepp = if which == "home" { world.home() } else { &world.visited };
            sepp.process().terminate();
            let reply = asks.join().unwrap();
            assert_eq!(reply.status, 200, "{which}: {reply:?}\n{}", world.output());
        });
        if which == "home" {
            assert!(world.home[0].end().success());
            world.visited.becomes(HOME, "terminated");
        } else {
            assert!(world.visited.end().success());
            world.home().becomes(VISITED, "terminated");
        }
    }
}

/// The network drops everything silently. The function gets an error; when the network is back, so is the service.
#[test]
fn a_partition_ends_and_service_goes_on() {
    let world = World::start(SEPP, Words { visited_peer: "keep-alive = \"1s\"\n", ..Words::EARLY });
    warm_up(&world);
    world.get();
    for is_new in [false, true] {
        world.between.part(true);
        if is_new {
            // It has no connection now, and can make none.
            world.cut();
        }
        let name = world.name();
        let path = "/nudm-sdm/v2/imsi-999700000000001/am-data";
        let asked = tessera_sepp_tests::request(Method::GET, path, &name)
            .header("3gpp-sbi-max-rsp-time", "1500");
        let reply = world.amf.ask(asked.body(bytes::Bytes::new()).unwrap());
        assert_eq!(reply.status, 504, "{reply:?}");
        assert_eq!(world.udm.executions(&name), 0);
        world.between.part(false);
        world.served();
        world.get();
        assert_eq!(world.udm.executed_again(), []);
    }
}

/// T5: connections that send nothing, or little, and one that never reads.
#[test]
fn silent_connections_stall_no_one() {
    let world = World::start(SEPP, Words::default());
    let places = world.home().places;
    let mut silent = Vec::new();
    for (number, place) in [places.n32c, places.n32f].iter().cycle().take(400).enumerate() {
        let mut stream = TcpStream::connect(place).unwrap();
        if number % 3 == 1 {
            // Half a record.
            std::io::Write::write_all(&mut stream, &[22, 3, 1, 2, 0, 1]).unwrap();
        }
        silent.push(stream);
    }
    for _ in 0..20 {
        world.get_over_new_connection();
    }
    assert!(world.home().admin("POST", &format!("/peers/{VISITED}/reestablish")).is_some());
    world.associated();
    world.served();
    assert_eq!(world.udm.executed_again(), []);
}
