//! Messages built from text, and their senders.

use std::path::Path;

use bytes::Bytes;
use http::{Request, Response, request, response};
use tessera_proxy::config::Document;
use tessera_sepp::config::Configuration;
use tessera_sepp::guard::{Context, Guard, Passage, Refusal, RequestSummary, Rule};
use tessera_sepp::names::PlmnSet;

pub const PEER: &str = "sepp2.5gc.mnc001.mcc001.3gppnetwork.org";

/// A URI in the own network that a peer must not reach.
pub const OWN: &str = "http://nrf.5gc.mnc070.mcc999.3gppnetwork.org/nudr-dr/v1/x";

const CONFIGURATION: &str = r#"
[local]
fqdn = "sepp1.5gc.mnc070.mcc999.3gppnetwork.org"
plmns = ["999-70"]
certificate = "sepp.pem"
[listen]
sbi = "127.0.0.1:7777"
n32c = "127.0.0.1:7443"
n32f = "127.0.0.1:7444"
[trust.visited]
plmns = ["001-01", "001-02"]
roots = "visited.pem"
[peer.visited]
fqdn = "sepp2.5gc.mnc001.mcc001.3gppnetwork.org"
plmns = ["001-01", "001-02"]
anchor = "visited"
address = ["192.0.2.1:7443"]
"#;

/// What the peer may ask, unless a test chooses: more than by default, for the rules about content.
const APIS: &str = r#"apis = ["nnrf-disc", "nnrf-nfm: POST, PATCH, DELETE /nnrf-nfm/v1/subscriptions/*",
    "nnrf-nfm: POST /nnrf-nfm/v1/nf-status-notify", "oauth2", "nausf-auth", "nudm-uecm", "nudm-sdm", "nudm-ee",
    "namf-comm: /namf-comm/v1/ue-contexts/*", "namf-callback", "nsmf-pdusession", "nsmf-callback", "nnssf-nsselection",
    "npcf-ue-policy-control", "nudm-callback", "npcf-callback"]
"#;

/// Returns the guard of network 999-70, whose peer represents 001-01 and 001-02, and proved only 001-01.
pub fn guard(more: &str) -> Guard {
    const SECTION: &str = "[peer.visited.guard]\n";
    let more = match () {
        () if more.contains("apis") || more.contains("guard = {") => more.to_owned(),
        () if more.contains(SECTION) => more.replace(SECTION, &format!("{SECTION}{APIS}")),
        () => format!("{more}\n{SECTION}{APIS}"),
    };
    guard_of(&more)
}

/// Returns the same with nothing else in its configuration.
pub fn guard_of(configuration_text: &str) -> Guard {
    Guard::new(&configuration(configuration_text), b"a secret of both instances").unwrap()
}

pub fn configuration(more: &str) -> Configuration {
    let text = format!("{CONFIGURATION}{more}");
    Document::from_text(Path::new("sepp.toml"), text).parse().unwrap()
}

/// Runs a function with that peer's context.
pub fn with<T>(judge: impl FnOnce(&Context<'_>) -> T) -> T {
    let peer = PEER.parse().unwrap();
    let plmns: PlmnSet = ["001-01".parse().unwrap()].into_iter().collect();
    judge(&Context { peer: &peer, plmns: &plmns })
}

/// Judges a request of the peer.
pub fn incoming(guard: &Guard, text: &str) -> Result<Passage, Refusal> {
    let (mut parts, mut body) = request(text);
    // As in the relay: the guard doesn't see bodies that aren't inspected.
    let body = Some(&mut body).filter(|_| guard.inspects(&parts.headers));
    with(|context| {
        let mut verdict = guard.admit(context, RequestSummary::of(&parts))?;
        verdict.logged.extend(guard.incoming_request(context, &mut parts, body)?.logged);
        Ok(verdict)
    })
}

/// Judges a request of a local function.
pub fn outgoing(guard: &Guard, text: &str) -> Result<Passage, Refusal> {
    let (mut parts, mut body) = request(text);
    with(|context| guard.outgoing_request(context, &mut parts, Some(&mut body)))
}

/// Judges the peer's answer to `GET asked`, with at most one header; returns its body as it is forwarded.
pub fn incoming_answer(
    guard: &Guard,
    asked: &str,
    header: &str,
    body: &str,
) -> Result<String, Refusal> {
    let (asked, mut parts, mut body) = answer(asked, header, body);
    let _judged =
        with(|context| guard.incoming_response(context, asked, &mut parts, Some(&mut body)))?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Judges a local function's answer.
pub fn outgoing_answer(
    guard: &Guard,
    asked: &str,
    header: &str,
    body: &str,
) -> Result<String, Refusal> {
    let (asked, mut parts, mut body) = answer(asked, header, body);
    let _judged =
        with(|context| guard.outgoing_response(context, asked, &mut parts, Some(&mut body)))?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Returns the rule that refuses a request of the peer, if one does.
pub fn rule(text: &str) -> Option<Rule> {
    incoming(&guard(""), text).err().map(|refusal| refusal.rule)
}

fn answer(asked: &str, header: &str, body: &str) -> (RequestSummary, response::Parts, Bytes) {
    let (question, _) = request(&format!("GET {asked}"));
    let mut answer = Response::builder();
    if !body.is_empty() {
        answer = answer.header("content-type", "application/json");
    }
    if let Some((name, value)) = header.split_once(": ") {
        answer = answer.header(name, value);
    }
    let (parts, ()) = answer.body(()).unwrap().into_parts();
    (RequestSummary::of(&question), parts, Bytes::copy_from_slice(body.as_bytes()))
}

/// Checks that it passes, and that no rule would have refused it.
pub fn passes(judged: Result<Passage, Refusal>) {
    assert_eq!(judged, Ok(Passage::default()));
}

/// Parses `METHOD path`, lines of headers, an empty line, and the body. A body without a type is JSON.
pub fn request(text: &str) -> (request::Parts, Bytes) {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let (method, path) = lines.next().unwrap().split_once(' ').unwrap();
    let mut builder = Request::builder().method(method).uri(path);
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        builder = builder.header(name, value);
    }
    let (mut parts, ()) = builder.body(()).unwrap().into_parts();
    if !body.is_empty() && !head.contains("content-type") {
        parts.headers.insert("content-type", "application/json".parse().unwrap());
    }
    (parts, Bytes::copy_from_slice(body.as_bytes()))
}

/// Returns the first hidden name in a text.
pub fn hidden(text: &str) -> &str {
    const END: &str = ".hidden.5gc.mnc070.mcc999.3gppnetwork.org";
    let end = text.find(END).unwrap_or_else(|| panic!("{text}")) + END.len();
    let start = text[..end].rfind(['/', '"']).map_or(0, |at| at + 1);
    &text[start..end]
}
