//! `tessera tunnel` at either end.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use tessera_interop::{CLIENT_NAME, SERVER_NAME};
use tessera_link::End;
use tessera_test_peers::Directory;

use crate::Failure;
use crate::setting::{GROUP, MOST_CONNECTIONS, ResumptionCount, SUITE, Setting};
use crate::ways::{Exchange, Tessera};

/// The socket of the metrics: not at an end of a link, but in the end's directory.
const ADMIN: &str = "admin";

pub(crate) fn configuration(end: End, setting: &Setting<'_>, ours: Tessera) -> String {
    let Setting { way, files, listen, connect, directory, .. } = setting;
    let early = if ours.early { "fs" } else { "never" };
    let group = if ours.exchange == Exchange::Hybrid { "X25519MLKEM768" } else { GROUP };
    let exchange = if ours.exchange == Exchange::X25519PskKe { "psk_ke" } else { "psk_dhe_ke" };
    let common = format!(
        "listen = \"{listen}\"\nearly = \"{early}\"\ntcp-fast-open = {}\n\
         groups = [\"{group}\"]\nsuites = [\"{SUITE}\"]\n\
         limits = {{ connections = {MOST_CONNECTIONS}, connections-per-address = {MOST_CONNECTIONS}",
        way.fast_open,
    );
    let (certificate, ca) = (&files.server, &files.ca);
    let section = match end {
        End::Server => format!(
            "[server.bench]\n{common}, handshakes-per-address = 1000 }}\n\
             forward = \"{connect}\"\ncertificate = \"{certificate}\"\nwait-for-client = {wait}\n\
             peers = {{ ca = \"{ca}\", names = [\"{CLIENT_NAME}\"] }}\n",
            // A spare connection must not occupy the backend.
            wait = ours.spare > 0,
        ),
        End::Client => format!(
            "[client.bench]\n{common} }}\nconnect = \"{connect}\"\nserver-name = \"{SERVER_NAME}\"\n\
             certificate = \"{}\"\nearly-key-exchange = \"{exchange}\"\nspare = {}\n\
             peers = {{ ca = \"{ca}\" }}\n",
            files.client, ours.spare,
        ),
    };
    let admin = directory.path(ADMIN);
    format!("[process]\nadmin = \"unix:{admin}\"\nlog = \"json\"\n{section}")
}

/// Counts connections with a forward-secret ticket, or an ordinary one without early data, and all other completed
/// handshakes.
pub(crate) fn resumed(directory: &Directory, ours: Tessera) -> Result<ResumptionCount, Failure> {
    let wanted = if ours.early { "forward_secret" } else { "resumed" };
    let (yes, no) = counts(directory, "handshakes", wanted)?;
    Ok(ResumptionCount { yes, no })
}

/// Returns how often the end has reloaded its files, and how often that failed.
pub(crate) fn reloads(directory: &Directory) -> Result<(usize, usize), Failure> {
    counts(directory, "reloads", "reloaded")
}

/// Sums the series of a metric with this value of a label, and all others.
fn counts(directory: &Directory, metric: &str, value: &str) -> Result<(usize, usize), Failure> {
    let (begin, value) = (format!("tessera_tunnel_{metric}_total{{"), format!("\"{value}\""));
    let mut counts = (0, 0);
    for line in metrics(directory)?.lines().filter(|line| line.starts_with(&begin)) {
        let (series, count) = line.rsplit_once(' ').ok_or("a series without a value")?;
        let counted = if series.contains(&value) { &mut counts.0 } else { &mut counts.1 };
        *counted += count.parse::<usize>()?;
    }
    Ok(counts)
}

fn metrics(directory: &Directory) -> Result<String, Failure> {
    let mut socket = UnixStream::connect(directory.path(ADMIN))?;
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}
