//! `tessera sepp` at either end.

use std::fmt::Write;
use std::net::SocketAddr;

use tessera_proxy::demo::{HOME, VISITED};

use crate::files::Credential;
use crate::request::UDM;
use crate::setting::{Comeback, End, Setting, Way};

/// The number of further peers, and of the networks of each.
const PEERS: u32 = 99;
const PLMNS: u32 = 10;

pub(crate) fn configuration(setting: &Setting<'_>) -> String {
    let Setting { way, end, files, listen, n32f, others: n32c, network_function, directory } =
        setting;
    let ((own, shown), (peer, roots)) = match end {
        End::Visited => ((VISITED, &files.visited), (HOME, &files.home)),
        End::Home => ((HOME, &files.home), (VISITED, &files.visited)),
    };
    let unused = SocketAddr::from(([127, 0, 0, 1], 0));
    let (sbi, n32f_listener, [own_n32c, peer_n32c]) = match end {
        End::Visited => (*listen, unused, *n32c),
        End::Home => (unused, *n32f, [n32c[1], n32c[0]]),
    };
    // The visited end connects, and so needs the address of N32-f of the home end.
    let initiate = *end == End::Visited;
    let n32f_address =
        if initiate { format!("n32f-address = [\"{n32f}\"]\n") } else { String::new() };
    // One peer may have half of the connections.
    let mut text = format!(
        "[process]\nadmin = \"unix:{admin}\"\nlog = \"json\"\nthreads = 1\n\
         [limits]\nconnections = 30000\nconnections-per-address = 30000\nhandshakes-per-address = 1000\n",
        admin = directory.path("admin"),
    );
    if let Way::SeppThatEnds { idle, .. } = way {
        text += &format!("idle = \"{}s\"\n", idle.as_secs());
    }
    if *end == End::Home {
        text += &format!("[sbi]\nhosts = {{ \"{UDM}\" = \"{network_function}\" }}\n");
    }
    text += &own.own(&shown.certificate, [sbi, own_n32c, n32f_listener]);
    text += &format!(
        "key = \"{}\"\n{}{}address = [\"{peer_n32c}\"]\n{n32f_address}initiate = {initiate}\n",
        shown.key,
        peer.trust(&roots.ca),
        peer.peer(),
    );
    if let Way::SeppThatEnds { comeback: Comeback::Early, .. } = way {
        text += "reconnection = { early-data = \"fs\" }\n";
    }
    if *way == Way::SeppOfMany {
        (0..PEERS).for_each(|number| text += &other(number, roots));
    }
    text
}

/// Returns the configuration of a peer that never connects, with its own networks.
fn other(number: u32, roots: &Credential) -> String {
    let plmns = (0..PLMNS).fold(String::new(), |mut plmns, of_it| {
        let _ = write!(plmns, "\"{}-{:02}\", ", 200 + number, of_it + 1);
        plmns
    });
    let name = format!("other{number}");
    let fqdn = format!("sepp.5gc.mnc001.mcc{}.3gppnetwork.org", 200 + number);
    format!(
        "[trust.{name}]\nplmns = [{plmns}]\nroots = \"{}\"\n\
         [peer.{name}]\nfqdn = \"{fqdn}\"\nplmns = [{plmns}]\nanchor = \"{name}\"\n\
         address = [\"192.0.2.1:7443\"]\ninitiate = false\n",
        roots.ca
    )
}
