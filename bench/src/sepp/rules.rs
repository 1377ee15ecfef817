//! The time of the guard's rules for a relayed request: both ends check the request and its answer.
//!
//! No configuration disables them, so they are measured separately, on the messages of the relay.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::{request, response};
use nix::time::{ClockId, clock_gettime};
use tessera_proxy::config::Document;
use tessera_proxy::demo::{HOME, OperatorIdentity, VISITED};
use tessera_sepp::config::Configuration;
use tessera_sepp::guard::{Context, Guard, RequestSummary};
use tessera_sepp::names::{Fqdn, PlmnSet};

use crate::Failure;
use crate::request::{ANSWER, request};

/// Calls per run; the shortest of several runs counts.
const CALLS: u32 = 20_000;
const RUNS: u32 = 9;
/// The header by which a SEPP names the network of a request (TS 29.500 §5.2.3.2.21).
const ORIGIN: &str = "3gpp-sbi-originating-network-id";

/// Processor time of all rules for one request, by the configurations of both ends.
pub(crate) fn cost(visited: &str, home: &str) -> Result<Duration, Failure> {
    let ends = [guard(visited)?, guard(home)?];
    let peers = [identity(HOME)?, identity(VISITED)?];
    let context = |end: usize| Context { peer: &peers[end].0, plmns: &peers[end].1 };
    let (at_visited, at_home) = (context(0), context(1));
    let mut asked: request::Parts = request(HOME.fqdn, "http")?.into_parts().0;
    asked.headers.insert(ORIGIN, format!("{}; srctype=SEPP", VISITED.plmn).parse()?);
    let answer = http::Response::builder().header("content-type", "application/json").body(())?;
    let answer: response::Parts = answer.into_parts().0;
    let judged = |count: bool| -> Result<(), Failure> {
        let (mut sent, mut came) = (asked.clone(), asked.clone());
        let (mut gives, mut gets) = (answer.clone(), answer.clone());
        let (mut body, mut passed) = (ANSWER_BYTES.clone(), ANSWER_BYTES.clone());
        if count {
            let of = RequestSummary::of(&sent);
            let verdicts = [
                ends[0].outgoing_request(&at_visited, &mut sent, None),
                ends[1].incoming_request(&at_home, &mut came, None),
                ends[1].outgoing_response(&at_home, of, &mut gives, Some(&mut body)),
                ends[0].incoming_response(&at_visited, of, &mut gets, Some(&mut passed)),
            ];
            for verdict in verdicts {
                let logged = verdict.map(|verdict| verdict.logged);
                if !logged.as_ref().is_ok_and(Vec::is_empty) {
                    return Err(format!("the rules refuse what is measured: {logged:?}").into());
                }
            }
        }
        black_box((sent, came, gives, gets, body, passed));
        Ok(())
    };
    // Subtract the time of copying them for each call.
    Ok(shortest(|| judged(true))?.saturating_sub(shortest(|| judged(false))?))
}

const ANSWER_BYTES: Bytes = Bytes::from_static(ANSWER.as_bytes());

fn guard(configuration: &str) -> Result<Guard, Failure> {
    let document = Document::from_text(Path::new("sepp.toml"), configuration.to_owned());
    let configuration: Configuration = document.parse().map_err(|error| error.to_string())?;
    Guard::new(&configuration, b"what hides names in a benchmark")
        .map_err(|error| format!("{error:?}").into())
}

fn identity(operator: OperatorIdentity) -> Result<(Fqdn, PlmnSet), Failure> {
    let fqdn = operator.fqdn.parse().map_err(|_| "a peer's name")?;
    let plmn = operator.plmn.parse().map_err(|_| "a peer's network")?;
    Ok((fqdn, [plmn].into_iter().collect()))
}

fn shortest(mut call: impl FnMut() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let mut shortest = Duration::MAX;
    for _ in 0..RUNS {
        let began: Duration = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into();
        for _ in 0..CALLS {
            call()?;
        }
        let ended: Duration = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into();
        shortest = shortest.min((ended - began) / CALLS);
    }
    Ok(shortest)
}
