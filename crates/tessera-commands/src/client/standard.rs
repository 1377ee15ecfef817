//! Standard input and output without buffers that retain data.
//!
//! The standard library and tokio copy everything into buffers that are never wiped. Here a thread per direction reads
//! or writes the file itself.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use tokio::sync::{mpsc, oneshot};

use crate::receive::{Plaintext, ROOM};

/// Standard input.
pub(super) struct Input(mpsc::Receiver<io::Result<Plaintext>>);

/// Standard output.
pub(super) struct Output(mpsc::Sender<(Plaintext, oneshot::Sender<io::Result<()>>)>);

impl Input {
    pub(super) fn open() -> io::Result<Self> {
        let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (sender, receiver) = mpsc::channel(1);
        // A blocking read can't be cancelled: the thread is not joined, and ends with the process.
        std::thread::Builder::new().name("stdin".to_owned()).spawn(move || read(file, &sender))?;
        Ok(Self(receiver))
    }

    /// Reads the next data; empty at the end. Cancel safe.
    pub(super) async fn read(&mut self) -> io::Result<Plaintext> {
        self.0.recv().await.unwrap_or_else(|| Ok(Plaintext::default()))
    }
}

fn read(mut file: File, to: &mpsc::Sender<io::Result<Plaintext>>) {
    loop {
        let mut bytes = vec![0; ROOM];
        let read = match file.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(count) => {
                bytes.truncate(count);
                Ok(Plaintext::new(bytes))
            }
            Err(error) => Err(error),
        };
        let is_over = !matches!(&read, Ok(read) if !read.is_empty());
        if to.blocking_send(read).is_err() || is_over {
            return;
        }
    }
}

impl Output {
    pub(super) fn open() -> io::Result<Self> {
        let mut file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let (sender, mut receiver) = mpsc::channel::<(Plaintext, oneshot::Sender<_>)>(1);
        std::thread::Builder::new().name("stdout".to_owned()).spawn(move || {
            while let Some((data, done)) = receiver.blocking_recv() {
                let written = file.write_all(&data);
                drop(data);
                let _ = done.send(written);
            }
        })?;
        Ok(Self(sender))
    }

    /// Writes all of `data`.
    pub(super) async fn write(&mut self, data: Plaintext) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (done, written) = oneshot::channel();
        self.0.send((data, done)).await.map_err(|_| gone())?;
        written.await.map_err(|_| gone())?
    }
}
