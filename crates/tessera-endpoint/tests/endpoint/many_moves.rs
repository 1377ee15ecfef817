//! Clients that move again and again, over paths with losses and behind a NAT that forgets them, before an attacker who
//! copies and forges their records: none is lost or hijacked, and no address gets more than three times what came from it.

use std::net::SocketAddr;
use std::time::Duration;

use tessera_endpoint::{EndpointCounts, EndpointOptions, ReturnRoutability};
use tessera_harness::{Mode, Numbers};

use crate::losses::Losses;
use crate::world::{Client, TRIP, World};

#[test]
fn clients_that_move_keep_their_associations() {
    Outcome::of(400).is_right();
}

/// `make evidence-datagram-soak`: takes minutes, and prints its figures.
#[test]
#[ignore = "takes minutes"]
fn clients_keep_their_associations_in_a_hundred_thousand_moves() {
    let outcome = Outcome::of(100_000);
    println!("{outcome:#?}");
    outcome.is_right();
}

/// What became of many moves.
#[derive(Debug, Default)]
struct Outcome {
    moves: u64,
    /// Those of which the client knows nothing: the NAT's mapping expires, and another client may get the old one.
    expired: u64,
    inherited: u64,
    /// Records that the attacker changed, and delivered from an address of a victim.
    forged: u64,
    /// Records that the attacker delivered from an address of a victim: before the client's own copy, or long after it.
    overtaken: u64,
    replayed: u64,
    /// Associations whose client got no answer once its path lost nothing.
    lost: u64,
    /// Victims that got anything of an association after its client's newest record.
    hijacked: u64,
    /// Victims that got more than three times what came from their address.
    flooded: u64,
    most_to_a_victim: usize,
    moved: u64,
    paths_proved: u64,
    paths_refuted: u64,
}

impl Outcome {
    /// With `moves` moves, of as many clients as an endpoint has here, in all policies.
    fn of(moves: u64) -> Self {
        let policies = [ReturnRoutability::Basic, ReturnRoutability::Enhanced];
        let policies = policies.into_iter().flat_map(|kind| [(kind, false), (kind, true)]);
        let mut outcome = Self::default();
        for (seed, (kind, waits)) in policies.enumerate() {
            let options = EndpointOptions {
                return_routability: kind,
                waits_for_path_response: waits,
                ..EndpointOptions::default()
            };
            outcome.add(options, moves / 4, seed as u64);
        }
        outcome
    }

    /// Lets the clients of one endpoint move.
    fn add(&mut self, options: EndpointOptions, moves: u64, seed: u64) {
        let mut world = World::new(Mode::Full, options);
        let clients: Vec<_> = (0..CLIENTS).map(|n| world.connect(1000 + n, None)).collect();
        world.pass(TRIP * 20);
        world.echoes = true;
        world.arrivals = Losses { lost: 10, late: 10, doubled: 5, delay: 100, latest: 2000 }
            .arrivals(seed + 100);
        let mut numbers = Numbers(seed);
        let mut ports = Ports::default();
        let mut victims = Vec::new();
        let until = self.moves + moves;
        while self.moves < until {
            for client in &clients {
                if numbers.happens(20) {
                    self.moves += 1;
                    if numbers.happens(30) {
                        self.expire(&mut world.clients, *client, &mut ports, &mut numbers);
                    } else {
                        self.move_client(&mut world.clients[*client], &mut ports, &mut numbers);
                    }
                }
                if numbers.happens(60) {
                    let datagram = world.client_sends(*client, b"question");
                    if numbers.happens(10) {
                        victims.push(ports.victim());
                        self.overtaken += 1;
                        world.deliver(victims[victims.len() - 1], datagram.clone());
                        if numbers.happens(50) {
                            self.replayed += 1;
                            world.deliver(victims[numbers.below(victims.len())], datagram);
                        }
                    } else if numbers.happens(10) {
                        // Its connection ID, and another record.
                        let mut forged = datagram;
                        let last = forged.len() - 1;
                        forged[last] ^= 1;
                        victims.push(ports.victim());
                        self.forged += 1;
                        world.deliver(victims[victims.len() - 1], forged);
                    }
                }
            }
            world.pass(TRIP * (1 + numbers.below(8) as u32));
        }
        world.pass(Duration::from_secs(20));
        world.arrivals = Box::new(|| vec![TRIP]);
        let to_victims = |world: &World| -> Vec<usize> {
            victims.iter().map(|victim| world.bytes[victim][1]).collect()
        };
        for client in &clients {
            world.client_sends(*client, b"question");
        }
        world.pass(Duration::from_secs(20));
        let early = to_victims(&world);
        for client in &clients {
            let before = world.clients[*client].received.len();
            // What waits for the answer to a challenge isn't repeated here.
            for _ in 0..3 {
                world.client_sends(*client, b"question");
                world.pass(TRIP * 20);
            }
            self.lost += u64::from(world.clients[*client].received.len() == before);
        }
        let late = to_victims(&world);
        self.hijacked +=
            early.iter().zip(late).filter(|(early, late)| *early < late).count() as u64;
        for victim in victims {
            let [from, to] = world.bytes[&victim];
            self.flooded += u64::from(to > 3 * from);
            self.most_to_a_victim = self.most_to_a_victim.max(to);
        }
        let EndpointCounts { moved, paths_proved, paths_refuted, .. } = world.endpoint.counts();
        self.moved += moved;
        self.paths_proved += paths_proved;
        self.paths_refuted += paths_refuted;
        assert!(world.failed.is_empty(), "{:?}", world.failed);
    }

    /// The NAT forgets a client, which goes on from another address, or from one that another client had.
    fn expire(
        &mut self,
        clients: &mut [Client],
        moved: usize,
        ports: &mut Ports,
        numbers: &mut Numbers,
    ) {
        self.expired += 1;
        let before = std::mem::replace(&mut clients[moved].address, ports.client());
        clients[moved].dropped_address = None;
        let heir = numbers.below(clients.len());
        if heir != moved && numbers.happens(30) {
            self.inherited += 1;
            clients[heir].address = before;
            clients[heir].dropped_address = None;
        }
    }

    /// A client gets another address; sometimes it still hears from the earlier one, or returns to it.
    fn move_client(&self, client: &mut Client, ports: &mut Ports, numbers: &mut Numbers) {
        let before = client.address;
        client.address = match client.dropped_address.take() {
            Some(earlier) if numbers.happens(30) => earlier,
            _ => ports.client(),
        };
        if numbers.happens(50) {
            client.dropped_address = Some(before);
        }
        client.association.use_next_connection_id();
    }

    #[track_caller]
    fn is_right(&self) {
        assert_eq!((self.lost, self.hijacked, self.flooded), (0, 0, 0), "{self:#?}");
        assert!(self.paths_proved > 0 && self.paths_refuted > 0, "{self:#?}");
        assert!(self.expired > 0 && self.inherited > 0 && self.forged > 0, "{self:#?}");
    }
}

/// Addresses that were not used before.
#[derive(Default)]
struct Ports {
    clients: u32,
    victims: u32,
}

impl Ports {
    fn client(&mut self) -> SocketAddr {
        self.clients += 1;
        fresh([10, 0], self.clients)
    }

    fn victim(&mut self) -> SocketAddr {
        self.victims += 1;
        fresh([203, 0], self.victims)
    }
}

fn fresh([a, b]: [u8; 2], number: u32) -> SocketAddr {
    let [_, c, d, port] = number.to_be_bytes();
    SocketAddr::from(([a, b + c, d, 1], 2000 + u16::from(port)))
}

/// How many clients an endpoint has at once.
const CLIENTS: u16 = 10;
