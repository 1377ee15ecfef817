//! A toy database: it executes a line, and counts the executions.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Executes `PAY n` and answers `PAID n`, however often it is asked: like most programs it doesn't detect duplicates,
/// and relies on the tunnel.
pub(super) struct Backend {
    pub(super) address: SocketAddr,
    executions: Arc<Executions>,
    accepting: JoinHandle<()>,
}

/// How often each request was executed.
#[derive(Default)]
pub(super) struct Executions {
    counts: Mutex<BTreeMap<String, usize>>,
    /// Signals each execution.
    changed: Notify,
}

impl Backend {
    /// Listens on a free port of loopback, and calls `on_execution` for each line that it executes.
    pub(super) async fn start(
        on_execution: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let executions = Arc::new(Executions::default());
        let (shared, hears) = (executions.clone(), Arc::new(on_execution));
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (shared, hears) = (shared.clone(), hears.clone());
                tokio::spawn(async move { serve(socket, &shared, &*hears).await });
            }
        });
        Ok(Self { address, executions, accepting })
    }

    /// Returns how often each request was executed.
    pub(super) fn counts(&self) -> BTreeMap<String, usize> {
        self.executions.lock().clone()
    }

    /// Waits until this request was executed more than `more_than` times, at most for `patience`; returns how often it
    /// was executed by then.
    pub(super) async fn wait(&self, request: &str, more_than: usize, patience: Duration) -> usize {
        let executed = async {
            loop {
                let changed = self.executions.changed.notified();
                let count = self.executions.of(request);
                if count > more_than {
                    return count;
                }
                changed.await;
            }
        };
        timeout(patience, executed).await.unwrap_or_else(|_| self.executions.of(request))
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Executions {
    fn of(&self, request: &str) -> usize {
        self.lock().get(request).copied().unwrap_or_default()
    }

    fn note(&self, request: &str) {
        *self.lock().entry(request.to_owned()).or_default() += 1;
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves a connection to its end. An incomplete line is not executed: early data must be self-delimiting.
async fn serve(mut socket: TcpStream, executions: &Executions, hears: &impl Fn(&str)) {
    let (reader, mut writer) = socket.split();
    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    loop {
        line.clear();
        match (&mut reader).take(LONGEST_LINE).read_line(&mut line).await {
            Ok(1..) => (),
            _ => return,
        }
        let Some(request) = line.strip_suffix('\n') else { return };
        let Some(number) = request.strip_prefix("PAY ") else { return };
        executions.note(request);
        hears(request);
        if writer.write_all(format!("PAID {number}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// In bytes.
const LONGEST_LINE: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_toy_database_executes_whole_lines_as_often_as_they_come() {
        let backend = Backend::start(|_| ()).await.unwrap();
        for (text, answer) in [("PAY 1\n", "PAID 1\n"), ("PAY 1\n", "PAID 1\n"), ("PAY 2", "")] {
            let mut socket = TcpStream::connect(backend.address).await.unwrap();
            socket.write_all(text.as_bytes()).await.unwrap();
            socket.shutdown().await.unwrap();
            let mut told = String::new();
            socket.read_to_string(&mut told).await.unwrap();
            assert_eq!(told, answer);
        }
        assert_eq!(backend.counts(), BTreeMap::from([("PAY 1".to_owned(), 2)]));
        assert_eq!(backend.wait("PAY 1", 1, Duration::from_secs(10)).await, 2);
        assert_eq!(backend.wait("PAY 2", 0, Duration::ZERO).await, 0);
    }
}
