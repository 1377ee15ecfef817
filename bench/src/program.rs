//! Runs the program `tessera` as a child of a benchmark.

use std::io::{BufRead, BufReader, Error, Result};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A server that is killed when this value is dropped.
pub struct ServedProgram {
    child: Child,
    /// Where it listens.
    pub address: String,
    /// The SHA-256 of its certificate.
    pub fingerprint: String,
}

impl ServedProgram {
    /// Starts `tessera serve` with these options, on a free port.
    pub fn start(program: &str, options: &[&str]) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--quiet", "--json", "-"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| Error::other("no output"))?;
        let mut told = BufReader::new(stdout);
        let mut line = String::new();
        told.read_line(&mut line)?;
        let listening: Value = serde_json::from_str(&line)?;
        let text = |name: &str| listening[name].as_str().unwrap_or_default().to_owned();
        let (address, fingerprint) = (text("address"), text("fingerprint"));
        // The facts of its connections would fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
        Ok(Self { address, fingerprint, child })
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for ServedProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
