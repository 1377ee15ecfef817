//! One connection, with standard input and output.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::Facts;
use tessera::resume::Verdict;
use tessera_kit::cached_certificates::KeptServers;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_kit::{ProgramError, SettingFile, key_file, names, signals};
use tessera_tokio::fast_open::{FastOpenStream, Opening};
use tessera_tokio::{ClientStream, Connector, EarlyData, EarlyDataOutcome, FileSessionStore};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::advice;
use super::carry::Carrier;
use super::config::{ConfiguredClient, configure};
use super::dial;
use crate::by_option::start_by_option;
use crate::counted::{Bytes, CountedStream};
use crate::options::ConnectOptions;
use crate::receive::receive;

type Stream = ClientStream<CountedStream<FastOpenStream>>;

pub(super) async fn run(options: &ConnectOptions) -> Result<(), ProgramError> {
    options.check()?;
    let mut configured = configure(options)?;
    let mut certificates = Certificates::new(configured.certificates.take());
    let result = connect(options, &configured, &mut certificates).await;
    // Includes what the server sent after the handshake. If there was no connection, the file would otherwise lack the
    // tickets that were taken out.
    let saved = certificates.save();
    result.and(saved)
}

/// Cached certificates of servers, until they are saved.
struct Certificates {
    kept: Option<KeptServers>,
    saved: Result<(), ProgramError>,
}

impl Certificates {
    fn new(kept: Option<KeptServers>) -> Self {
        Self { kept, saved: Ok(()) }
    }

    /// Reports cache files that were refused.
    fn tell_of_refusal(&self, report: &Report) {
        if let Some(kept) = self.kept.as_ref().filter(|kept| kept.found().was_refused()) {
            report.print(kept.found());
        }
    }

    /// Saves for the next process, when the handshake is complete or the connection is over.
    fn hand_on(&mut self) {
        if let Some(kept) = self.kept.as_ref().filter(|_| self.saved.is_ok()) {
            self.saved = kept.save();
        }
    }

    fn save(mut self) -> Result<(), ProgramError> {
        self.hand_on();
        self.saved
    }
}

async fn connect(
    options: &ConnectOptions,
    configured: &ConfiguredClient,
    certificates: &mut Certificates,
) -> Result<(), ProgramError> {
    let common = &options.common;
    let report = Report::of_client(common.json_file(), common.quiet, io::stderr())?;
    certificates.tell_of_refusal(&report);
    let early_data = early_data(options)?;
    let connector = connector(options, configured)?;
    let asked = signals::asked_to_end()?;
    let silent = common.json.as_deref().is_some_and(|path| path == Path::new("-"));

    let started = Instant::now();
    let socket = match dial(options).await {
        Ok(socket) => socket,
        Err(error) => return Err(no_connection(&report, started, error)),
    };
    let address = socket.peer_addr().ok();
    let started = Instant::now();
    let mut stream = connector
        .start(
            configured.destination(),
            CountedStream { stream: socket, tracker: Bytes::default() },
        )
        .await
        .map_err(|error| start_by_option(&error))?;
    let mut handshake = None;
    let work = async {
        let left = shake_hands(&mut stream, &early_data, &report).await;
        handshake = stream.is_handshake_complete().then(|| started.elapsed());
        let left = match left {
            Ok(left) => left,
            Err(error) => {
                take_tickets(&mut stream).await;
                return Err(error);
            }
        };
        certificates.hand_on();
        let (fast_open, syn_bytes) = opening(options, stream.get_ref());
        report.line(&ConnectionFacts::new(
            stream.facts(),
            SocketFacts { address, fast_open, syn_bytes, handshake, ..SocketFacts::default() },
        ));
        let stream = &mut stream;
        Carrier { stream, report: &report, keep_open: options.keep_open, silent }.carry(&left).await
    };
    let result = tokio::select! {
        result = work => result,
        () = asked => Ok(()),
    };
    if result.is_ok() {
        // The server may be gone, which is no error here. This also stores the sessions.
        let _ = stream.shutdown().await;
    } else if stream.is_handshake_complete() {
        // A failed connection brought tickets too: wait for the thread that stores them before the process ends.
        let _ = timeout(TICKETS, stream.shutdown()).await;
    }
    // Also for a user who ends the program before the server has answered.
    let executed = maybe_executed(stream.early_data());
    let result = match &executed {
        Some(_) if result.is_ok() && !stream.is_handshake_complete() => {
            Err(io::Error::other("ended before the server answered"))
        }
        _ => result,
    };
    let counted = stream.get_ref();
    let (fast_open, syn_bytes) = opening(options, counted);
    let socket = SocketFacts {
        address,
        fast_open,
        syn_bytes,
        received: counted.tracker.received,
        sent: counted.tracker.sent,
        handshake,
        total: started.elapsed(),
        error: result.as_ref().err().map(|error| match &executed {
            None => error.to_string(),
            Some(executed) => format!("{error}; {executed}"),
        }),
        ..SocketFacts::default()
    };
    let silent = socket.received == 0;
    report.object(&ConnectionFacts::new(stream.facts(), socket));
    let told = report.finish();
    result.map_err(|error| advice::failed(options, &error, silent, executed))?;
    told
}

/// Reads the early data of the options.
pub(super) fn early_data(options: &ConnectOptions) -> Result<Vec<u8>, ProgramError> {
    let Some(path) = &options.early_data_file else { return Ok(Vec::new()) };
    fs::read(path)
        .map_err(|error| ProgramError::input(SettingFile { setting: "--early-data", path }, &error))
}

/// Reports a connection that could not be made.
pub(super) fn no_connection(
    report: &Report,
    started: Instant,
    error: ProgramError,
) -> ProgramError {
    let socket = SocketFacts {
        total: started.elapsed(),
        error: Some(error.to_string()),
        ..SocketFacts::default()
    };
    report.object(&ConnectionFacts::new(&Facts::default(), socket));
    error
}

/// Receives the tickets of a connection that has failed: the old ones are worthless at this server, and the next
/// connection should have better ones.
async fn take_tickets(stream: &mut Stream) {
    if !stream.is_handshake_complete() {
        return;
    }
    // A server with nothing left to send closes its direction in response.
    let _ = stream.shutdown().await;
    let _ = timeout(TICKETS, async {
        while receive(stream).await.is_ok_and(|received| !received.is_empty()) {}
    })
    .await;
}

/// How long to wait for tickets that the server sends unasked.
const TICKETS: Duration = Duration::from_secs(1);

/// Returns how the connection began, for facts, if the options ask for it.
fn opening(
    options: &ConnectOptions,
    socket: &CountedStream<FastOpenStream>,
) -> (Option<&'static str>, Option<usize>) {
    let opening = options.tcp_fast_open.then(|| socket.stream.opening());
    (opening.map(Opening::name), opening.map(Opening::syn_bytes))
}

pub(super) fn connector(
    options: &ConnectOptions,
    configured: &ConfiguredClient,
) -> Result<Connector, ProgramError> {
    let connector = Connector::new(configured.config.clone());
    let Some(directory) = &options.sessions else { return Ok(connector) };
    let setting = SettingFile { setting: "--sessions", path: directory };
    let failed = |error| ProgramError::output(setting, &error);
    fs::create_dir_all(directory).map_err(failed)?;
    // A session remembers that its server was accepted; it must not be used under another kind of trust.
    let below = directory.join(&configured.scope);
    let store = match &options.sessions_key {
        None => FileSessionStore::open(below),
        Some(path) => {
            let file = SettingFile { setting: "--sessions-key", path };
            let key = key_file::read(file, "sessions", directory)?;
            FileSessionStore::open_wrapped(below, &names::provider(&options.common.groups), &key)
        }
    };
    Ok(connector.with_sessions(Arc::new(store.map_err(failed)?)))
}

/// Completes the handshake with early data, and returns the part of it that is still to be sent.
async fn shake_hands(
    stream: &mut Stream,
    early_data: &[u8],
    report: &Report,
) -> io::Result<Vec<u8>> {
    match stream.handshake_with_early_data(early_data).await {
        EarlyData::NotSent(result) => {
            result?;
            if !early_data.is_empty() {
                report.line(&"no ticket for early data yet: it is sent after the handshake");
            }
            Ok(early_data.to_vec())
        }
        EarlyData::Accepted { count, .. } => {
            Ok(early_data.get(count..).unwrap_or_default().to_vec())
        }
        EarlyData::Rejected { verdict: Verdict::Burned, .. } => {
            report.line(&"the server discarded the early data: it is sent after the handshake");
            Ok(early_data.to_vec())
        }
        EarlyData::Rejected { .. } => {
            Err(io::Error::other("the server did not accept the early data here"))
        }
        EarlyData::Failed { error, .. } => Err(error),
        _ => Err(io::Error::other("the early data has an unknown outcome")),
    }
}

/// Returns the warning about early data that a user needs before trying again.
pub(super) fn maybe_executed(outcome: EarlyDataOutcome) -> Option<String> {
    if outcome.may_be_sent_again() {
        return None;
    }
    let EarlyDataOutcome { sent, accepted, verdict, .. } = outcome;
    Some(match verdict {
        None => {
            format!(
                "the server accepted {accepted} bytes of early data, and may have executed them"
            )
        }
        Some(Verdict::Used) => {
            format!(
                "{sent} bytes of early data were accepted elsewhere, and may have been executed there"
            )
        }
        Some(_) => format!(
            "{sent} bytes of early data may have been executed: connect again only if they may be \
             executed twice"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_knows_what_may_have_been_executed() {
        let mut outcome = EarlyDataOutcome::default();
        assert_eq!(maybe_executed(outcome), None, "nothing was sent");
        (outcome.sent, outcome.verdict) = (7, Some(Verdict::Burned));
        assert_eq!(maybe_executed(outcome), None);
        for (verdict, told) in [
            (Some(Verdict::Unknown), "7 bytes of early data may have been executed"),
            (Some(Verdict::Used), "7 bytes of early data were accepted elsewhere"),
            (None, "the server accepted 7 bytes of early data"),
        ] {
            (outcome.verdict, outcome.accepted) = (verdict, if verdict.is_none() { 7 } else { 0 });
            assert!(maybe_executed(outcome).is_some_and(|text| text.starts_with(told)));
        }
    }
}
