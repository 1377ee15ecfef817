//! What a link that carries nothing takes of the processor: alone in its process, whose time it measures.
//!
//! As root it needs the emulated link, and fails without it; for other users the machine decides.
#![allow(clippy::panic, clippy::unwrap_used, reason = "the helpers here are tests too")]

mod common;

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tessera_link::{End, LinkParameters};

use self::common::{emulated, socket};

const RTT: Duration = Duration::from_millis(400);

/// The thread that was to deliver the packet doesn't watch for it for ever, before all threads of ordinary priority.
#[test]
fn a_link_is_idle_after_an_address_is_gone_whose_packet_was_under_way() {
    let parameters = LinkParameters { rtt: RTT, ..LinkParameters::default() };
    let Some(link) = emulated(&parameters) else { return };
    let later = link.add_client_address(&parameters).unwrap();
    let to = SocketAddr::new(link.addresses().server, 5000);
    let client = socket(&link, End::Client, SocketAddr::new(later, 0));
    client.send_to(b"datagram", to).unwrap();
    // The packet is read, and its delivery is waited for.
    thread::sleep(RTT / 8);
    link.remove_client_address(later).unwrap();
    thread::sleep(RTT);
    let before = processor_time();
    thread::sleep(RTT * 2);
    let taken = processor_time() - before;
    assert!(taken < RTT / 4, "{taken:?} of {:?}", RTT * 2);
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap().into()
}
