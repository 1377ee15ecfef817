//! Messages that pass the guard are read by other programs, as network functions read them: none may find a network, a
//! subscriber or an address that the guard refuses elsewhere.
//!
//! Each program reads lines: `name NAME` of members, parameters and headers that count; then for each message
//! `message NUMBER`, `path`, `resource` (what a patch is applied to), `header NAME VALUE` and `body`, in hexadecimal.
//! It prints a line for each finding: `NUMBER NAME network|subscriber|host VALUE`.

mod counts;
mod program;
mod readings;
mod unread;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bytes::Bytes;
use tessera_sepp::guard::{Guard, RequestSummary, Rule};

use self::counts::Counts;
use self::program::Program;
use self::readings::Readings;
use crate::grammar::{self, HostileMessage, Kind, Lie, Message};
use crate::message::{guard, with};

#[test]
fn accepted_input_shows_a_reader_in_c_nothing_hostile() {
    judge(&[Program::c()], 1);
}

#[test]
#[ignore = "needs Go and Node.js: make evidence-sepp-receivers"]
fn accepted_input_shows_readers_in_c_go_and_javascript_nothing_hostile() {
    let programs = [Program::c(), Program::go(), Program::node()];
    judge(&programs, SEEDS);
}

/// All services in the corpus, so that other rules judge its messages.
const APIS: &str = r#"guard = { apis = [
    "nnrf-disc", "nnrf-nfm", "oauth2", "nausf-auth", "nudm-uecm", "nudm-sdm", "nudm-ueau", "nudm-ee", "namf-comm",
    "namf-callback", "nsmf-callback", "nsmf-pdusession", "nsmf-event-exposure", "nsmsf-sms", "nnssf-nsselection",
    "npcf-am-policy-control", "nchf-convergedcharging",
] }"#;

/// A guard that refuses everything would pass the test below.
#[test]
fn the_same_messages_without_a_lie_pass() {
    let guard = guard(APIS);
    let honest = grammar::honest();
    assert!(honest.len() >= 50, "{}", honest.len());
    let refused: Vec<_> = honest
        .iter()
        .filter_map(|(what, message)| Some(format!("{what}: {:?}", passed(&guard, message).err()?)))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// Returns the forwarded message, or the rule against it.
fn passed(guard: &Guard, message: &Message) -> Result<Message, Rule> {
    let mut body = message.body();
    let mut request = message.request().unwrap();
    let asked = RequestSummary::of(&request);
    let headers;
    let judged = match message.response() {
        Some(mut response) => {
            let seen = looked_into(guard, &response.headers, &mut body);
            let judged =
                with(|context| guard.incoming_response(context, asked, &mut response, seen));
            headers = response.headers;
            judged
        }
        None => {
            let seen = looked_into(guard, &request.headers, &mut body);
            let judged = with(|context| guard.incoming_request(context, &mut request, seen));
            headers = request.headers;
            judged
        }
    };
    drop(judged.map_err(|refusal| refusal.rule)?);
    let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), value.as_bytes().to_vec())
    };
    Ok(Message {
        path: request.uri.to_string(),
        headers: headers.iter().map(header).collect(),
        body: body.into(),
        ..message.clone()
    })
}

/// As in the relay: the guard doesn't see bodies that aren't inspected.
fn looked_into<'b>(
    guard: &Guard,
    headers: &http::HeaderMap,
    body: &'b mut Bytes,
) -> Option<&'b mut Bytes> {
    Some(body).filter(|body| !body.is_empty() && guard.inspects(headers))
}

/// Lets members of vendors and newer releases pass; the rules about known members still judge them.
const ANY_MEMBER: &str = "[guard]\nlog-only = [\"unknown-member\"]";

/// The number of thousands that are read without a guard.
const SEEDS: u64 = 10;

/// Reads ten thousand messages unguarded, to see what each reader can find, and `guarded` thousands of them as they
/// pass a guard.
fn judge(programs: &[Program], guarded: u64) {
    let mut readings = Readings::default();
    let mut counts = Counts::default();
    let mut wrong = Vec::new();
    for seed in 1..=SEEDS {
        let (corpus, honest) = grammar::corpus(seed);
        let all = corpus.iter().map(|hostile| hostile.message.clone()).enumerate().collect();
        let found: Vec<_> = programs.iter().map(|program| lies(program, &corpus, &all)).collect();
        for (program, found) in programs.iter().zip(&found) {
            readings.count(program, &corpus, found);
        }
        if seed <= guarded {
            wrong.extend(judge_thousand(programs, &corpus, &all, &found, &mut counts));
            let honest = honest.into_iter().enumerate().collect();
            let honest = passing("the same without their lies", &honest, "", &mut counts);
            counts.honest += honest.len();
        }
    }
    counts.check();
    readings.check();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Checks what readers find in messages that pass. `found`: what they find unguarded.
fn judge_thousand(
    programs: &[Program],
    corpus: &[HostileMessage],
    all: &Messages,
    found: &[LieLines],
    counts: &mut Counts,
) -> Vec<String> {
    let strict = passing("hostile messages", all, "", counts);
    let lenient = passing("hostile messages, any member allowed", all, ANY_MEMBER, counts);
    // A guard that judges, but forwards messages unchanged.
    let unchanged: Messages = lenient.keys().map(|number| (*number, all[number].clone())).collect();
    let columns = [all, &unchanged, &lenient, &strict];
    counts.row("messages", columns.map(BTreeMap::len));
    let mut by_any = [const { BTreeSet::new() }; 4];
    let mut wrong = BTreeMap::new();
    for (program, without) in programs.iter().zip(found) {
        let [_, passing @ ..] = columns;
        let [unchanged, lenient, strict] = passing.map(|messages| lies(program, corpus, messages));
        let found = [without, &unchanged, &lenient, &strict];
        counts.row(program.name, found.map(BTreeMap::len));
        for (any, found) in by_any.iter_mut().zip(found) {
            any.extend(found.keys().copied());
        }
        for (found, messages) in found.into_iter().zip(columns).skip(2) {
            for (number, line) in found {
                let shown = || shown(program, &corpus[*number], &messages[number], line);
                wrong.entry(*number).or_insert_with(shown);
            }
        }
    }
    counts.row("any reader", by_any.map(|any| any.len()));
    wrong.into_values().collect()
}

type Messages = BTreeMap<usize, Message>;

/// For each message in which a reader finds the lie, the line that shows it.
type LieLines = BTreeMap<usize, String>;

/// Returns the forwarded form of messages that pass.
fn passing(what: &'static str, all: &Messages, more: &str, counts: &mut Counts) -> Messages {
    let guard = guard(&format!("{APIS}\n{more}"));
    let refused = counts.refused.entry(what).or_default();
    let mut passing = Messages::new();
    for (number, message) in all {
        match passed(&guard, message) {
            Ok(message) => drop(passing.insert(*number, message)),
            Err(rule) => *refused.entry(rule.name()).or_default() += 1,
        }
    }
    passing
}

fn lies(program: &Program, corpus: &[HostileMessage], messages: &Messages) -> LieLines {
    let names = corpus.iter().map(|hostile| hostile.lie.member).collect();
    let mut found = LieLines::new();
    for line in program.reads(&names, messages).lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (number, member, kind, value) = (word(), word(), word(), word());
        let number: usize = number.parse().unwrap_or_else(|_| panic!("a receiver wrote {line:?}"));
        if corpus[number].lie.is(member, kind, value) {
            found.entry(number).or_insert_with(|| line.to_owned());
        }
    }
    found
}

impl Lie {
    fn is(&self, member: &str, kind: &str, value: &str) -> bool {
        let is_value = |lie: &String| match self.kind {
            Kind::Subscriber => value.starts_with(lie.as_str()),
            Kind::Network | Kind::Host => value == lie,
        };
        let expected = match self.kind {
            Kind::Network => "network",
            Kind::Subscriber => "subscriber",
            Kind::Host => "host",
        };
        // Two APIs may spell a name differently, and a reader may confuse them.
        self.member.eq_ignore_ascii_case(member)
            && expected == kind
            && self.values.iter().any(is_value)
    }
}

fn shown(program: &Program, hostile: &HostileMessage, after: &Message, line: &str) -> String {
    let HostileMessage { what, lie, message } = hostile;
    let what = what.join(", ");
    let name = program.name;
    format!(
        "{what}\n  {name} finds: {line}\n  the lie: {lie:?}\n  as it came: {message}\n  as it goes on: {after}"
    )
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if let Some(status) = self.status {
            write!(f, " {status}")?;
        }
        for (name, value) in &self.headers {
            write!(f, ", {name}: {}", value.escape_ascii())?;
        }
        write!(f, ", {}", self.body.escape_ascii())
    }
}
