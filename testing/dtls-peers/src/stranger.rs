//! The other end: a process that takes a command a line, and answers each with an object a line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// A peer's process; killed when it is dropped.
pub struct Stranger {
    process: Child,
    pipes: Arc<Mutex<Pipes>>,
    /// Its name and version.
    pub name: String,
    /// Its port, as a server.
    pub port: u16,
}

struct Pipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Stranger {
    pub fn start(program: &str, arguments: &[String]) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no pipes".into());
        };
        let mut pipes = Pipes { input, output: BufReader::new(output) };
        let hello = pipes.answer();
        let pipes = Arc::new(Mutex::new(pipes));
        let mut this = Self { process, pipes, name: String::new(), port: 0 };
        let hello = hello?;
        this.name = hello["peer"].as_str().unwrap_or_default().to_owned();
        this.port = hello["port"].as_u64().and_then(|port| port.try_into().ok()).unwrap_or(0);
        Ok(this)
    }

    /// Has it obey a command; returns its answer.
    pub async fn obey(&self, command: impl Into<String>) -> Result<Value, String> {
        let (pipes, command) = (self.pipes.clone(), command.into());
        let obeyed = tokio::task::spawn_blocking(move || {
            let mut pipes = pipes.lock().unwrap_or_else(PoisonError::into_inner);
            writeln!(pipes.input, "{command}").map_err(|error| format!("it is gone: {error}"))?;
            pipes.answer().map_err(|error| format!("{command}: {error}"))
        });
        obeyed.await.map_err(|error| error.to_string())?
    }
}

impl Pipes {
    fn answer(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| error.to_string())?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|_| format!("it answers {line:?}"))?;
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
