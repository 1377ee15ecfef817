//! Reads orders, and writes answers.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver};
use std::{error, process, thread};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Any failure is reported to the lab as text.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn error::Error>>;

/// Returns the orders on standard input. At its end the process exits, whatever it is doing, so that nothing outlives
/// the lab.
pub(crate) fn orders<O: DeserializeOwned + Send + 'static>() -> Receiver<serde_json::Result<O>> {
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
pub(crate) fn answer(answer: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}
