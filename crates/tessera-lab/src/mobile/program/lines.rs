//! The lines that programs read and write: one JSON object each. Times are on the monotonic clock, in nanoseconds.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::mobile::client::ClientEvent;

/// A line that a client writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(in crate::mobile) enum ClientLine {
    Event(ClientEvent),
    Last(LastLine),
}

/// The last line of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(in crate::mobile) enum LastLine {
    /// All messages are acknowledged.
    End { at: u64, cpu_us: u64 },
    /// It can't go on.
    Failed { at: u64, why: String },
}

/// A line that a program reads: what happens to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(in crate::mobile) enum StepLine {
    /// An interface of the client's.
    Down {
        interface: usize,
    },
    Up {
        interface: usize,
        address: IpAddr,
    },
    /// A server of ours loses its associations, and keeps its keys.
    Restart,
}

/// A line that a server writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(in crate::mobile) enum ServerLine {
    /// The first.
    Listening { address: SocketAddr },
    /// The last.
    End { cpu_us: u64, sockets_most: u32, ports_most: u32 },
}

/// Writes a line to standard output.
pub(super) fn write(line: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_other_programs() {
        let read = |text: &str| serde_json::from_str::<ClientLine>(text).unwrap();
        assert_eq!(
            read(r#"{"event":"handshake_end","at":7,"kind":"resumed"}"#),
            ClientLine::Event(ClientEvent::HandshakeEnd { at: 7 })
        );
        let end = r#"{"event":"end","at":9,"cpu_us":3,"datagrams_sent":1,"bytes_sent":2}"#;
        assert_eq!(read(end), ClientLine::Last(LastLine::End { at: 9, cpu_us: 3 }));
        let line = StepLine::Up { interface: 0, address: [10, 77, 0, 5].into() };
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            r#"{"state":"up","interface":0,"address":"10.77.0.5"}"#
        );
        let line = r#"{"interface":1,"state":"down"}"#;
        let down = StepLine::Down { interface: 1 };
        assert_eq!(serde_json::from_str::<StepLine>(line).unwrap(), down);
    }
}
