//! Random datagrams of strangers, from seeds.

use std::time::Duration;

use tessera::Error;
use tessera::wire::NamedGroup;
use tessera_endpoint::{EndpointOptions, Route};
use tessera_harness::{Mode, Scene, change, each_seed, garbage};

use crate::world::{TRIP, World, address, path};

pub(crate) fn world(options: EndpointOptions) -> World {
    let mut scene = Scene::new(tessera_aws_lc::provider(), Mode::Full);
    // A hybrid share needs two datagrams.
    scene.client.groups = vec![NamedGroup::X25519];
    scene.server.groups = vec![NamedGroup::X25519];
    World::of(scene, options)
}

/// Returns what a client sends now, which arrives nowhere.
fn sent(world: &mut World, client: usize) -> Vec<Vec<u8>> {
    let (now, mut sent, mut datagram) = (world.now(), Vec::new(), Vec::new());
    while world.clients[client].association.transmit(now, &mut datagram) {
        sent.push(std::mem::take(&mut datagram));
    }
    sent
}

#[test]
fn fuzz_strangers_without_cookies_get_no_association_and_keep_no_client_out() {
    each_seed(60, |numbers| {
        let options = EndpointOptions { hello_pool: 16 * 1024, ..EndpointOptions::default() };
        let mut world = world(options);
        let stranger = world.connect(1, None);
        let seen = sent(&mut world, stranger);
        world.clients[stranger].error = Some(Error::Closed);
        for _ in 0..100 {
            let from = address(1000 + numbers.below(30) as u16);
            world.deliver(from, garbage(numbers, &seen));
            if numbers.happens(10) {
                world.pass(Duration::from_millis(numbers.next() % 3000));
            }
            assert!(world.endpoint.is_empty());
        }
        let counts = world.endpoint.counts();
        assert_eq!(counts.cookies_opened + counts.full + counts.moved, 0);
        // An answer to one of them would end an attempt from its address.
        world.pass(TRIP * 2);
        // A spoofed part may have come from the client's own address.
        let client = world.connect(1000 + numbers.below(30) as u16, None);
        world.pass(Duration::from_secs(5));
        world.is_connected(client);
        for (address, [from, to]) in
            world.bytes.iter().filter(|(it, _)| **it != world.clients[client].address)
        {
            assert!(*to <= 3 * from, "{address}: {from} and {to}");
        }
    });
}

#[test]
fn fuzz_a_changed_cookie_begins_no_association() {
    each_seed(40, |numbers| {
        let mut world = world(EndpointOptions::default());
        let client = world.connect(1000, None);
        let [hello] = &sent(&mut world, client)[..] else { panic!("one datagram") };
        assert_eq!(world.deliver(address(1000), hello.clone()), Route::Handled);
        let (now, mut request) = (world.now(), Vec::new());
        assert_eq!(world.endpoint.transmit(now, &mut request), Some(path(address(1000))));
        world.deliver_to_client(address(1000), request);
        let [second] = &sent(&mut world, client)[..] else { panic!("one datagram") };
        let at = cookie(second);
        for refused in 1..=50 {
            let mut cookie = second[at.clone()].to_vec();
            change(numbers, &mut cookie);
            cookie.resize(at.len(), numbers.next() as u8);
            let mut changed = second.clone();
            changed[at.clone()].copy_from_slice(&cookie);
            if changed == *second {
                changed[at.start] ^= 1;
            }
            assert_eq!(world.deliver(address(1000), changed), Route::Dropped);
            assert_eq!(world.endpoint.counts().cookies_refused, refused);
        }
        assert!(world.endpoint.is_empty());
        assert!(matches!(world.deliver(address(1000), second.clone()), Route::Association(_)));
        world.pass(TRIP * 20);
        world.is_connected(client);
    });
}

/// Returns where the cookie is in a ClientHello: after its extension's type and both lengths.
fn cookie(datagram: &[u8]) -> std::ops::Range<usize> {
    let length = |at: usize| usize::from(u16::from_be_bytes([datagram[at], datagram[at + 1]]));
    let is_cookie = |at: &usize| length(*at) == 44 && length(at + 2) == length(at + 4) + 2;
    let at = (25..datagram.len() - 6).find(is_cookie).expect("a cookie");
    at + 6..at + 6 + length(at + 4)
}
