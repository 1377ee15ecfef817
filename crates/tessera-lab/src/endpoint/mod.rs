//! The processes under test: one is the client, one the server, and each does what it is told on
//! its standard input.
//!
//! An endpoint serves one connection at a time in one thread, so that processor time and memory
//! can be told apart by connection.

mod client;
mod configuration;
mod request;
mod server;
mod sites;
mod stores;
#[cfg(test)]
mod tests;
mod wire;

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver};
use std::{error, process, thread};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::link::End;

/// The arguments with which the lab starts its program again, to be one of the endpoints: the
/// first, followed by the name of the end. They are not meant for people.
pub const ARGUMENTS: [&str; 2] = ["lab", "endpoint"];

/// The name of an end among the arguments.
#[must_use]
pub fn name(end: End) -> &'static str {
    match end {
        End::Client => "client",
        End::Server => "server",
    }
}

/// Is one end of an experiment, until the lab closes this process's standard input.
///
/// # Errors
///
/// If orders cannot be read or answers not be written: then there is no lab any more.
pub fn run(end: End) -> io::Result<()> {
    match end {
        End::Client => client::run(),
        End::Server => server::run(),
    }
}

type Result<T> = std::result::Result<T, Box<dyn error::Error>>;

/// The orders on standard input. When it ends the process ends too, whatever it is doing: so
/// nothing is left behind when the lab is gone.
fn orders<O: DeserializeOwned + Send + 'static>() -> Receiver<serde_json::Result<O>> {
    let (give, take) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(io::Result::ok) {
            if give.send(serde_json::from_str(&line)).is_err() {
                break;
            }
        }
        process::exit(0);
    });
    take
}

/// Writes an answer to standard output.
fn answer(answer: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}
