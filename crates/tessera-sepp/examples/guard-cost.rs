//! The cost of the rules: nanoseconds for each message, with 100 peers that represent 1,000 networks.
//!
//! `cargo run --profile dist -p tessera-sepp --example guard-cost`, or with a word: only the rows that contain it, for
//! a profiler.

use std::error::Error;
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, request, response};
use tessera_proxy::config::Document;
use tessera_sepp::config::Configuration;
use tessera_sepp::guard::{Context, Guard, RequestSummary};
use tessera_sepp::names::{Fqdn, PlmnSet};

const PEERS: usize = 100;
const PLMNS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let guard = guard()?;
    let peer: Fqdn = name(50).parse()?;
    let plmns: PlmnSet =
        (0..PLMNS).map(|index| plmn(50, index).parse()).collect::<Result<_, _>>()?;
    let context = Context { peer: &peer, plmns: &plmns };
    let ask = "/nudm-sdm/v2/imsi-999700000000001/am-data?plmn-id=%7B%22mcc%22:%22350%22,%22mnc%22:%2203%22%7D";
    let get = request("GET", ask)?;
    let put = request("PUT", "/nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access")?;
    let small = body(170);
    let medium = body(1024);
    let large = body(4096);
    println!(
        "{PEERS} peers, {} networks; ns per message, the shortest of 2000 runs",
        PEERS * PLMNS
    );
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let is_wanted = |what: &str| what.contains(&wanted);
    let print = |what: &str, time: Duration| println!("{:>6} ns  {what}", time.as_nanos());
    for (what, parts, body) in [
        ("request without body, from the peer", &get, None),
        ("request with 170 bytes, from the peer", &put, Some(&small)),
        ("request with 1 kB, from the peer", &put, Some(&medium)),
        ("request with 4 kB, from the peer", &put, Some(&large)),
    ] {
        if !is_wanted(what) {
            continue;
        }
        let copied = measure(|| drop(black_box((parts.clone(), body.cloned()))));
        let judged = measure(|| {
            let (mut parts, mut body) = (parts.clone(), body.cloned());
            let verdict = guard.incoming_request(&context, &mut parts, body.as_mut());
            black_box(verdict.is_ok());
        });
        let verdict = guard.incoming_request(&context, &mut parts.clone(), body.cloned().as_mut());
        drop(verdict?);
        print(what, judged.saturating_sub(copied));
    }
    let asked = RequestSummary::of(&get);
    let answer = response()?;
    for (what, body) in [
        ("answer with 170 bytes", &small),
        ("answer with 1 kB", &medium),
        ("answer with 4 kB", &large),
    ] {
        if !is_wanted(what) {
            continue;
        }
        let copied = measure(|| drop(black_box((answer.clone(), body.clone()))));
        let from_own = measure(|| {
            let (mut parts, mut body) = (answer.clone(), body.clone());
            let verdict = guard.outgoing_response(&context, asked, &mut parts, Some(&mut body));
            black_box(verdict.is_ok());
        });
        let from_peer = measure(|| {
            let (mut parts, mut body) = (answer.clone(), body.clone());
            let verdict = guard.incoming_response(&context, asked, &mut parts, Some(&mut body));
            black_box(verdict.is_ok());
        });
        print(&format!("{what}, from an own function"), from_own.saturating_sub(copied));
        print(&format!("{what}, from the peer"), from_peer.saturating_sub(copied));
    }
    if !is_wanted("callback") {
        return Ok(());
    }
    let callback = Bytes::from_static(
        br#"{"callbackReference":"http://10.45.0.5:7777/namf-callback/v1/sdm","plmnId":{"mcc":"999","mnc":"70"}}"#,
    );
    let subscribe = request("POST", "/nudm-sdm/v2/imsi-350030000000001/sdm-subscriptions")?;
    let copied = measure(|| drop(black_box((subscribe.clone(), callback.clone()))));
    let hidden = measure(|| {
        let (mut parts, mut body) = (subscribe.clone(), callback.clone());
        black_box(guard.outgoing_request(&context, &mut parts, Some(&mut body)).is_ok());
    });
    print(
        "request of an own function, with a callback that is hidden",
        hidden.saturating_sub(copied),
    );
    Ok(())
}

/// Returns the time of one call: the shortest of many short runs, which nothing else disturbed.
fn measure(mut one: impl FnMut()) -> Duration {
    const CALLS: u32 = 64;
    let run = |one: &mut dyn FnMut()| {
        let begun = Instant::now();
        (0..CALLS).for_each(|_| one());
        begun.elapsed() / CALLS
    };
    (0..2000).map(|_| run(&mut one)).min().unwrap_or_default()
}

fn name(peer: usize) -> String {
    format!("sepp.5gc.mnc003.mcc{}.3gppnetwork.org", 300 + peer)
}

fn plmn(peer: usize, index: usize) -> String {
    format!("{}-{index:02}", 300 + peer)
}

fn guard() -> Result<Guard, Box<dyn Error>> {
    let mut text = String::from(
        "[local]\nfqdn = \"sepp1.5gc.mnc070.mcc999.3gppnetwork.org\"\nplmns = [\"999-70\"]\ncertificate = \"x\"\n\
         [listen]\nsbi = \"127.0.0.1:1\"\nn32c = \"127.0.0.1:2\"\nn32f = \"127.0.0.1:3\"\n",
    );
    for peer in 0..PEERS {
        let plmns: Vec<_> = (0..PLMNS).map(|index| format!("\"{}\"", plmn(peer, index))).collect();
        let plmns = plmns.join(", ");
        write!(
            text,
            "[trust.p{peer}]\nplmns = [{plmns}]\nroots = \"x\"\n\
             [peer.p{peer}]\nfqdn = \"{}\"\nplmns = [{plmns}]\nanchor = \"p{peer}\"\naddress = [\"192.0.2.1:1\"]\n\
             guard = {{ rate = {{ requests = 100000000, requests-per-service = 100000000 }} }}\n",
            name(peer)
        )?;
    }
    let configuration =
        Document::from_text(Path::new("sepp.toml"), text).parse::<Configuration>()?;
    Ok(Guard::new(&configuration, b"the secret of a measurement")?)
}

fn request(method: &str, path: &str) -> Result<request::Parts, http::Error> {
    let is_incoming = path.contains("imsi-999");
    let target = if is_incoming { "mnc070.mcc999" } else { "mnc003.mcc350" };
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .header("accept", "application/json,application/problem+json")
        .header("user-agent", "AMF")
        .header("3gpp-sbi-max-rsp-time", "10000")
        .header("3gpp-sbi-sender-timestamp", "Sat, 21 Nov 2026 01:44:47.553 GMT")
        .header("3gpp-sbi-target-apiroot", format!("http://udm.5gc.{target}.3gppnetwork.org:7777"));
    if is_incoming {
        request = request.header("3gpp-sbi-originating-network-id", "350-03; srctype=SEPP");
    }
    Ok(request.body(())?.into_parts().0)
}

fn response() -> Result<response::Parts, http::Error> {
    let response =
        Response::builder().header("content-type", "application/json").header("server", "UDM");
    Ok(response.body(())?.into_parts().0)
}

/// Returns an AMF's registration, padded to a length with backup AMFs.
fn body(len: usize) -> Bytes {
    let mut text = String::from(
        r#"{"amfInstanceId":"7c1ad2c4-0000-41ef-8a5d-2f1b61f0a001","guami":{"plmnId":{"mcc":"350","mnc":"03"},"amfId":"020040"},"ratType":"NR","backupAmfInfo":["#,
    );
    while text.len() + 60 < len {
        text.push_str(r#"{"backupAmf":"amf2","guamiList":[]},"#);
    }
    let left = len.saturating_sub(text.len() + 18);
    format!(r#"{text}{{"backupAmf":"{}"}}]}}"#, "y".repeat(left)).into()
}
