//! Certificates and lists that change at run time.

use tessera_sepp_tests::{HOME, VISITED, Words, World};
use tessera_test_peers::wait_until;

use crate::SEPP;
use crate::early::{replay_everywhere, warm_up};

#[test]
fn certificates_are_swapped_at_a_reload_and_service_goes_on() {
    let world = World::start(SEPP, Words::EARLY);
    warm_up(&world);
    world.get_over_new_connection();
    for (sepp, authority, name) in [
        (&world.visited, &world.visited_ca, VISITED),
        (world.home(), &world.home_ca, HOME),
        (&world.visited, &world.visited_ca, VISITED),
    ] {
        sepp.directory.write("sepp.pem", authority.issue(name).both_pem());
        sepp.reload();
        world.served();
        world.cut();
        world.served();
        warm_up(&world);
        // A flight from before the swap has no effect after it.
        world.get_over_new_connection();
        replay_everywhere(&world);
    }
}

/// All or nothing: an invalid file, and a key that isn't the certificate's.
#[test]
fn a_reload_that_fails_changes_nothing() {
    let world = World::start(SEPP, Words::default());
    let failed = || world.home().metric("sepp_reload_total", &[r#"result="failed""#]);
    let good = std::fs::read(world.home().directory.path("sepp.pem")).unwrap();
    for (file, text) in [
        ("sepp.pem", world.third_ca.issue(HOME).both_pem().replace("PRIVATE KEY", "PRIVATE")),
        ("visited.pem", "nothing".to_owned()),
        ("visited.crl", "nothing".to_owned()),
        ("sepp.pem", world.home_ca.issue("sepp9.example.org").both_pem()),
    ] {
        let was = std::fs::read(world.home().directory.path(file)).unwrap();
        let before = failed();
        world.home().directory.write(file, text);
        world.home().process().hang_up();
        wait_until(&format!("the reload with another {file} fails"), || {
            (failed() > before).then_some(())
        });
        let (could_run, says) = world.home().check();
        assert!(!could_run, "{file}: {says}");
        world.get_over_new_connection();
        world.home().directory.write(file, was);
    }
    world.home().directory.write("sepp.pem", good);
    world.home().reload();
    world.get_over_new_connection();
}

/// A peer removed from the configuration is refused, with or without a ticket, and accepted again when its table
/// returns.
#[test]
fn a_peer_that_leaves_the_configuration_is_a_stranger() {
    let world = World::start(SEPP, Words::EARLY);
    warm_up(&world);
    let file = world.home().directory.path("sepp.toml");
    let whole = std::fs::read_to_string(&file).unwrap();
    let sections = whole.split("\n[").filter(|section| !section.starts_with("peer.visited"));
    let without = sections.collect::<Vec<_>>().join("\n[");
    world.home().directory.write("sepp.toml", without);
    world.home().reload();
    let before = world.udm.asked().len();
    world.cut();
    let (_, reply) = world.ask(http::Method::GET, "am-data");
    assert!(!reply.status.is_success(), "{reply:?}");
    assert_eq!(world.udm.asked().len(), before, "{}", world.output());
    world.home().directory.write("sepp.toml", whole);
    world.home().reload();
    world.served();
    warm_up(&world);
    assert_eq!(world.udm.executed_again(), []);
}
