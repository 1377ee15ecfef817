//! The output of lines.

use std::io::{self, Write};
use std::time::Duration;

use tessera_kit::report::Queue;

use super::LogFormat;
use super::format::{lost_json, lost_text};

/// Accepts whole lines, and never waits.
pub(super) struct Sink(Queue);

impl Sink {
    pub(super) fn new(to: impl Write + Send + 'static, format: LogFormat) -> io::Result<Self> {
        let lost = match format {
            LogFormat::Text => lost_text,
            LogFormat::Json => lost_json,
        };
        Queue::new("the log".to_owned(), to, lost).map(Self)
    }

    pub(super) fn lost(&self) -> u64 {
        self.0.all_missed()
    }

    #[cfg(test)]
    pub(super) fn settle(&self) {
        let _ = self.0.settle(Duration::from_secs(60));
    }

    pub(super) fn finish(&self, patience: Duration) {
        // There is nowhere left to report an error.
        let _ = self.0.finish(patience);
    }
}

impl Write for &Sink {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // A line that was left out is empty.
        if !line.is_empty() {
            self.0.push(line.to_vec());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
