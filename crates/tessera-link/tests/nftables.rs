//! The emulated NATs, compared with those of the kernel's nftables.
//!
//! As root this needs `nft`, `ip` and the emulated link, and fails without them; for other users the machine decides.
#![allow(clippy::panic, clippy::unwrap_used, reason = "the helpers here are tests too")]

mod common;

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use tessera_link::{End, Link, LinkKind, LinkParameters, Nat, NatKind, Network, Node};

use self::common::{Sockets, emulated, socket};

/// Sockets with a NAT between them, and the links that they need.
type World = (Sockets, Vec<Link>);

const LIFETIME_SECONDS: &str = "2";

/// The client is behind the first link, the server behind the second.
const FULL_CONE: &str = "
table ip nat {
    chain before { type nat hook prerouting priority dstnat; iifname link1 udp dport 5000 dnat to 10.77.0.1; }
    chain after { type nat hook postrouting priority srcnat; oifname link1 masquerade; }
}";
const ADDRESS_RESTRICTED: &str = "
table ip nat {
    set peers { type ipv4_addr; flags dynamic; }
    chain before {
        type nat hook prerouting priority dstnat
        iifname link1 ip saddr @peers udp dport 5000 dnat to 10.77.0.1
    }
    chain passing { type filter hook forward priority filter; oifname link1 add @peers { ip daddr }; }
    chain after { type nat hook postrouting priority srcnat; oifname link1 masquerade; }
}";
const PORT_RESTRICTED: &str = "
table ip nat { chain after { type nat hook postrouting priority srcnat; oifname link1 masquerade; }; }";
const SYMMETRIC: &str = "
table ip nat {
    chain after { type nat hook postrouting priority srcnat; oifname link1 masquerade random,fully-random; }
}";
const BLOCKED: &str = "
table ip nat { chain passing { type filter hook forward priority filter; meta l4proto udp drop; }; }";

/// Runs a program at a node, with this input.
fn run(node: &Node, program: &str, arguments: &[&str], input: &str) {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    let mut child = node.spawn(command).unwrap_or_else(|error| panic!("{program}: {error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{program} {arguments:?}");
}

fn set(node: &Node, name: &str, value: &'static str) {
    let path = format!("/proc/sys/net/{name}");
    let writing = node.spawn_thread(move || fs::write(&path, value)).unwrap();
    writing.join().unwrap().unwrap_or_else(|error| panic!("{name}: {error}"));
}

fn of_nftables(rules: &str) -> World {
    let network = Network::open(LinkKind::Tun).unwrap();
    let [client, nat, server] = ["client", "nat", "server"].map(|name| network.node(name).unwrap());
    let join = |one, other| network.join(one, other, &LinkParameters::default()).unwrap();
    let links = vec![join(&client, &nat), join(&nat, &server)];
    let [inside, outside] = [0, 1].map(|i| links[i].addresses());
    run(&client, "ip", &["route", "add", "default", "via", &inside.server.to_string()], "");
    run(&nat, "/usr/sbin/nft", &["-f", "-"], rules);
    set(&nat, "ipv4/ip_forward", "1");
    // Also where both sides have spoken.
    for state in ["", "_stream"] {
        set(&nat, &format!("netfilter/nf_conntrack_udp_timeout{state}"), LIFETIME_SECONDS);
    }
    let client = socket(&links[0], End::Client, SocketAddr::new(inside.client, 5000));
    let server = SocketAddr::new(outside.server, 0);
    let servers = [(); 3].map(|()| socket(&links[1], End::Server, server));
    (Sockets { client, servers }, links)
}

/// Returns `None` only if the machine does not allow it to a user other than root.
fn of_link(kind: NatKind) -> Option<World> {
    let lifetime = Some(Duration::from_secs(LIFETIME_SECONDS.parse().unwrap()));
    let nat = Some(Nat { kind, lifetime });
    let link = emulated(&LinkParameters { nat, ..LinkParameters::default() })?;
    Some((Sockets::at(&link), vec![link]))
}

#[test]
fn emulated_nats_do_what_nftables_does() {
    let of_both = |kind, rules| Some([of_link(kind)?, of_nftables(rules)]);
    let same_outcome = |kind, rules| {
        let both = of_both(kind, rules)?;
        let [emulated, kernels] = both.each_ref().map(|(sockets, _)| sockets.outcome());
        assert_eq!(emulated, kernels, "{kind}");
        Some(both)
    };
    for (kind, rules) in [
        (NatKind::FullCone, FULL_CONE),
        (NatKind::AddressRestricted, ADDRESS_RESTRICTED),
        (NatKind::PortRestricted, PORT_RESTRICTED),
    ] {
        if same_outcome(kind, rules).is_none() {
            return;
        }
    }
    let Some(blocked) = of_both(NatKind::Blocked, BLOCKED) else { return };
    assert!(blocked.iter().all(|(sockets, _)| sockets.are_separated()));

    // A mapping that is idle for longer than its life is replaced.
    let Some(symmetric) = same_outcome(NatKind::Symmetric, SYMMETRIC) else { return };
    let seen = || symmetric.each_ref().map(|(sockets, _)| sockets.meet(0));
    let before = seen();
    assert_eq!(seen(), before);
    thread::sleep(Duration::from_secs(4));
    for (before, after) in before.into_iter().zip(seen()) {
        assert!(before != after && before.ip() == after.ip(), "{before} {after}");
    }
}
